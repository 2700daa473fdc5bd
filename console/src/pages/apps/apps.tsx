import { Text, UnstyledButton } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type AppList, appsQuery } from "../../api/apps.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletQuery } from "../../api/wallet.ts";
import { Page, Section } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { formatCount } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { type AppAction, AppTable, type AppWithKey } from "./app-table.tsx";
import { ConnectApps } from "./connect-apps.tsx";
import { DisconnectApp } from "./disconnect-app.tsx";
import { EditApp } from "./edit-app.tsx";

export function Apps() {
  const { id } = useWallet();
  const apps = useQuery(appsQuery(id));
  const keys = useQuery(keysQuery(id));
  return (
    <Page
      title="Apps"
      description="Assistants and agents that spend from this wallet. The apps of a person share a daily budget, and you can disconnect each at any time."
    >
      <QueryState query={apps} title="Couldn't load apps." rows={3} />
      <QueryState query={keys} title="Couldn't load apps." rows={3} />
      {apps.data && keys.data && <AppLists list={apps.data} keys={keys.data} />}
      {apps.data && <ConnectApps list={apps.data} />}
    </Page>
  );
}

function AppLists({ list, keys }: { list: AppList; keys: readonly Key[] }) {
  const { id } = useWallet();
  const price = useQuery(walletQuery(id)).data?.price ?? "0.01";
  const [open, setOpen] = useState<AppAction>();
  const close = (): void => setOpen(undefined);
  const apps = list.apps.flatMap((app): AppWithKey[] => {
    const key = keys.find(({ id: keyId }) => keyId === app.key_id);
    return key ? [{ ...app, key }] : [];
  });
  const connected = apps.filter(({ key }) => key.state === "active");
  const props = { price, onAction: setOpen };
  return (
    <>
      {connected.length === 0 ? (
        <EmptyState title="No connected apps">
          Connect Claude, Cursor or another app that supports the Model Context Protocol.
        </EmptyState>
      ) : (
        <AppTable label="Apps" apps={connected} {...props} />
      )}
      <DisconnectedApps apps={apps.filter(({ key }) => key.state !== "active")} {...props} />
      {open?.action === "edit" && <EditApp apiKey={open.app.key} onClose={close} />}
      {open?.action === "disconnect" && <DisconnectApp app={open.app} onClose={close} />}
    </>
  );
}

function DisconnectedApps(props: { apps: AppWithKey[]; price: string; onAction: (action: AppAction) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  if (props.apps.length === 0) return undefined;
  return (
    <Section title="Disconnected apps">
      <UnstyledButton aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <Text span size="sm" c="var(--pb-accent)">
          {isOpen ? "Hide" : "Show"} {formatCount(props.apps.length, "disconnected app")}
        </Text>
      </UnstyledButton>
      {isOpen && <AppTable label="Disconnected apps" {...props} />}
    </Section>
  );
}
