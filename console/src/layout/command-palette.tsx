import "@mantine/spotlight/styles.css";
import { Spotlight, spotlight } from "@mantine/spotlight";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type Key, keysQuery } from "../api/keys.ts";
import { Icon } from "../parts/icon.tsx";
import { type Found, find } from "./find.ts";
import classes from "./finder-box.module.css";
import { useMode } from "./mode.tsx";
import { places } from "./navigation.tsx";
import { useWallet } from "./use-wallet.ts";

type Choice = Found<(typeof places)[number], Key>;

export function FinderBox({ timesWanted }: { timesWanted: number }) {
  const { id: walletId } = useWallet();
  const navigate = useNavigate();
  const [typed, setTyped] = useState("");
  const keys = useQuery(keysQuery(walletId)).data ?? [];
  useEffect(() => {
    if (timesWanted > 0) spotlight.open();
  }, [timesWanted]);

  const params = { walletId };
  const go = (choice: Choice): Promise<void> => {
    if (choice.kind === "page") return navigate({ to: choice.page.to, params });
    if (choice.kind === "key") return navigate({ to: "/w/$walletId/keys", params });
    return navigate({ to: "/w/$walletId/ledger", params, search: { request_id: choice.id } });
  };
  const choices = find(typed, places, keys);
  return (
    <Spotlight.Root
      shortcut={null}
      query={typed}
      onQueryChange={setTyped}
      scrollable
      maxHeight={400}
      overlayProps={{ backgroundOpacity: 0.3 }}
      attributes={{ content: { "aria-label": "Find" } }}
    >
      <Spotlight.Search placeholder="A page, a key, a request id" aria-label="Find" autoComplete="off" />
      <Spotlight.ActionsList>
        {choices.map((choice) => (
          <Spotlight.Action
            key={nameOf(choice)}
            className={classes.action}
            {...describe(choice)}
            onClick={() => go(choice)}
          />
        ))}
        {typed === "" && <ModeAction />}
        {choices.length === 0 && (
          <Spotlight.Empty>
            No page and no key is called that. To find a search, paste its request id as a whole.
          </Spotlight.Empty>
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

function nameOf(choice: Choice): string {
  if (choice.kind === "page") return choice.page.to;
  return choice.kind === "key" ? choice.key.id : choice.id;
}

function describe(choice: Choice) {
  if (choice.kind === "page") {
    return { label: choice.page.label, leftSection: <Icon name={choice.page.icon} /> };
  }
  if (choice.kind === "request") {
    return { label: `Show ${choice.id} in the ledger`, leftSection: <Icon name="ledger" /> };
  }
  const { name, start, state, mode } = choice.key;
  const what = mode === "mgmt" ? "management key" : `${mode} key`;
  return {
    label: name,
    description: `${start}…, ${what}${state === "active" ? "" : `, ${state}`}`,
    leftSection: <Icon name="keys" />,
  };
}
