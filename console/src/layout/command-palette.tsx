import "@mantine/spotlight/styles.css";
import { Spotlight, spotlight } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type Key, keysQuery } from "../api/keys.ts";
import { Icon } from "../components/icon.tsx";
import classes from "./command-palette.module.css";
import { type Command, findCommands } from "./find-commands.ts";
import { useMode } from "./mode.tsx";
import { navigationItems } from "./navigation.tsx";
import { useWallet } from "./use-wallet.ts";

type PaletteCommand = Command<(typeof navigationItems)[number], Key>;

export function CommandPalette({ openCount }: { openCount: number }) {
  const { id: walletId } = useWallet();
  const navigate = useNavigate();
  const [query, setQuery] = useState("");
  const keys = useQuery(keysQuery(walletId)).data ?? [];
  useEffect(() => {
    if (openCount > 0) spotlight.open();
  }, [openCount]);

  const params = { walletId };
  const go = (command: PaletteCommand): Promise<void> => {
    if (command.kind === "page") return navigate({ to: command.page.to, params });
    if (command.kind === "key") return navigate({ to: "/w/$walletId/keys", params });
    return navigate({ to: "/w/$walletId/ledger", params, search: { request_id: command.id } });
  };
  const commands = findCommands(query, navigationItems, keys);
  return (
    <Spotlight.Root
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      scrollable
      maxHeight={400}
      overlayProps={{ backgroundOpacity: 0.3 }}
      attributes={{ content: { "aria-label": "Find" } }}
    >
      <Spotlight.Search placeholder="Page, key or request ID" aria-label="Find" autoComplete="off" />
      <Spotlight.ActionsList>
        {commands.map((command) => (
          <Spotlight.Action
            key={idOf(command)}
            className={classes.action}
            {...describe(command)}
            onClick={() => go(command)}
          />
        ))}
        {query === "" && <ModeAction />}
        {commands.length === 0 && (
          <Spotlight.Empty>No matching page or key. To look up a search, paste its full request ID.</Spotlight.Empty>
        )}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

function ModeAction() {
  const { mode, setMode } = useMode();
  const other = mode === "live" ? "test" : "live";
  return (
    <Spotlight.Action className={classes.action} label={`Switch to ${other} mode`} onClick={() => setMode(other)} />
  );
}

function idOf(command: PaletteCommand): string {
  if (command.kind === "page") return command.page.to;
  return command.kind === "key" ? command.key.id : command.id;
}

function describe(command: PaletteCommand) {
  if (command.kind === "page") {
    return { label: command.page.label, leftSection: <Icon name={command.page.icon} /> };
  }
  if (command.kind === "request") {
    return { label: `Look up ${command.id}`, leftSection: <Icon name="ledger" /> };
  }
  const { name, start, state, mode } = command.key;
  const kind = mode === "mgmt" ? "management key" : `${mode} key`;
  return {
    label: name,
    description: `${start}…, ${kind}${state === "active" ? "" : `, ${state}`}`,
    leftSection: <Icon name="keys" />,
  };
}
