import type { Key } from "@pennyblack/sdk";
import "@mantine/spotlight/styles.css";
import { createSpotlight, Spotlight, useSpotlight } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isAppKey } from "../api/apps.ts";
import { keysQuery } from "../api/keys.ts";
import { Icon } from "../components/icon.tsx";
import classes from "./command-palette.module.css";
import { type Command, findCommands } from "./find-commands.ts";
import { type navigationItems, useNavigationItems } from "./navigation.tsx";
import { type PaletteAction, usePaletteActions } from "./use-palette-actions.ts";
import { useWallet } from "./use-wallet.ts";

type PaletteCommand = Command<PaletteAction, (typeof navigationItems)[number], Key>;

const groups = { request: "Request", action: "Actions", page: "Pages", key: "Keys" } as const;
const listId = "commands";
const [store, spotlight] = createSpotlight();

export function CommandPalette({ openCount }: { openCount: number }) {
  const { id: walletId } = useWallet();
  const navigate = useNavigate();
  const [query, setQuery] = useState("");
  const [isLookup, setIsLookup] = useState(false);
  const keys = useQuery(keysQuery(walletId)).data ?? [];
  const pages = useNavigationItems();
  const actions = usePaletteActions({
    onLookup: () => {
      setQuery("");
      setIsLookup(true);
    },
  });
  useEffect(() => {
    if (openCount > 0) spotlight.open();
  }, [openCount]);

  const params = { walletId };
  const run = (command: PaletteCommand): unknown => {
    if (command.kind === "action") return command.action.run();
    if (command.kind === "page") return navigate({ to: command.page.to, params });
    if (command.kind === "key")
      return navigate({ to: isAppKey(command.key) ? "/w/$walletId/apps" : "/w/$walletId/keys", params });
    return navigate({ to: "/w/$walletId/ledger", params, search: { request_id: command.id } });
  };
  const found = findCommands(query, { actions, pages, keys });
  const commands = isLookup ? found.filter(({ kind }) => kind === "request") : found;
  const kinds = [...new Set(commands.map(({ kind }) => kind))];
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={() => setIsLookup(false)}
      scrollable
      maxHeight={440}
      overlayProps={{ backgroundOpacity: 0.3 }}
      attributes={{ content: { "aria-label": "Command palette" } }}
    >
      <PaletteInput isLookup={isLookup} />
      <Spotlight.ActionsList id={listId} role="listbox" aria-label="Commands">
        {kinds.map((kind) => (
          <Spotlight.ActionsGroup key={kind} label={groups[kind]} role="group" aria-label={groups[kind]}>
            {commands
              .map((command, index) => ({ command, index }))
              .filter(({ command }) => command.kind === kind)
              .map(({ command, index }) => (
                <PaletteOption key={idOf(command)} command={command} index={index} onRun={() => run(command)} />
              ))}
          </Spotlight.ActionsGroup>
        ))}
      </Spotlight.ActionsList>
      {commands.length === 0 && (
        <Spotlight.Empty role="status">
          {isLookup
            ? "Paste the complete request ID. It is in the Request-Id header of each response."
            : "No matching command, page or key. To find a request, paste its complete ID."}
        </Spotlight.Empty>
      )}
      <Spotlight.Footer className={classes.footer}>
        <span>↑↓ to move</span>
        <span>Enter to select</span>
        <span>Esc to close</span>
      </Spotlight.Footer>
    </Spotlight.Root>
  );
}

/** The focus stays in the input. Screen readers announce the option that the arrow keys select. */
function PaletteInput({ isLookup }: { isLookup: boolean }) {
  const { selected } = useSpotlight(store);
  return (
    <Spotlight.Search
      placeholder={isLookup ? "Paste a request ID" : "Type a command, or find a page, key or request ID"}
      aria-label={isLookup ? "Request ID" : "Command, page, key or request ID"}
      autoComplete="off"
      spellCheck={false}
      role="combobox"
      aria-expanded
      aria-controls={listId}
      aria-autocomplete="list"
      {...(selected >= 0 && { "aria-activedescendant": optionId(selected) })}
    />
  );
}

function PaletteOption({ command, index, onRun }: { command: PaletteCommand; index: number; onRun: () => unknown }) {
  const { selected } = useSpotlight(store);
  const staysOpen = command.kind === "action" && command.action.staysOpen === true;
  return (
    <Spotlight.Action
      // Mantine does not pass `id` on to the element.
      ref={(element: HTMLElement | null) => element?.setAttribute("id", optionId(index))}
      className={classes.action}
      role="option"
      aria-selected={selected === index}
      closeSpotlightOnTrigger={!staysOpen}
      {...describe(command)}
      onClick={() => onRun()}
    />
  );
}

function optionId(index: number): string {
  return `command-${index}`;
}

function idOf(command: PaletteCommand): string {
  if (command.kind === "action") return command.action.label;
  if (command.kind === "page") return command.page.to;
  return command.kind === "key" ? command.key.id : command.id;
}

function describe(command: PaletteCommand) {
  if (command.kind === "action") {
    return { label: command.action.label, leftSection: <Icon name={command.action.icon} /> };
  }
  if (command.kind === "page") {
    return { label: command.page.label, leftSection: <Icon name={command.page.icon} /> };
  }
  if (command.kind === "request") {
    return { label: `Find request ${command.id}`, leftSection: <Icon name="ledger" /> };
  }
  const { name, start, state, mode } = command.key;
  const kind = mode === "mgmt" ? "management key" : `${mode} key`;
  return {
    label: name,
    description: `${start}…, ${kind}${state === "active" ? "" : `, ${state}`}`,
    leftSection: <Icon name="keys" />,
  };
}
