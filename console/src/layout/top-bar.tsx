import { Button, Menu, SegmentedControl, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api } from "../api/client.ts";
import { useSession } from "../api/session.ts";
import { summaryQuery } from "../api/wallet.ts";
import { formatMoney } from "../format/format-money.ts";
import { formatDays } from "../format/format-time.ts";
import { ColorSchemeItem } from "./color-scheme.tsx";
import { CommandPaletteButton } from "./command-palette-button.tsx";
import classes from "./layout.module.css";
import { useMode } from "./mode.tsx";
import { useWallet } from "./use-wallet.ts";

export function TopBar() {
  const { mode, setMode } = useMode();
  return (
    <header className={classes.topBar}>
      <WalletMenu />
      <SegmentedControl
        size="xs"
        value={mode}
        onChange={(value) => setMode(value)}
        aria-label="Mode"
        data={[
          { value: "live", label: "Live" },
          { value: "test", label: "Test" },
        ]}
      />
      <CommandPaletteButton />
      <Balance />
    </header>
  );
}

function Balance() {
  const { id } = useWallet();
  const { mode } = useMode();
  const { data } = useQuery(summaryQuery(id, "live"));
  // Test mode hides the live balance.
  if (mode === "test") return undefined;
  if (!data) return <span className={classes.balance}>&nbsp;</span>;
  return (
    <Link to="/w/$walletId/top-up" params={{ walletId: id }} className={classes.balance}>
      <strong>{formatMoney(data.available)}</strong>
      {data.runway_days !== null && (
        <Text span inherit c="dimmed" visibleFrom="xs">
          , about {formatDays(data.runway_days)}
        </Text>
      )}
    </Link>
  );
}

function WalletMenu() {
  const wallet = useWallet();
  const session = useSession();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const signOut = async (): Promise<void> => {
    await api("/console/api/sign-out", { method: "POST" });
    // The cached data belongs to the user who signed out.
    queries.clear();
    await navigate({ to: "/sign-in" });
  };
  return (
    <Menu position="bottom-start" width={280}>
      <Menu.Target>
        <Button variant="subtle" color="ink" px="xs" aria-label={`Wallet ${wallet.name}. Switch wallet or sign out`}>
          <Text span fw={600} truncate maw={{ base: 120, sm: 240 }}>
            {wallet.name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Wallets</Menu.Label>
        {session.wallets.map(({ id, name, account_name: account, role }) => (
          <Menu.Item
            key={id}
            onClick={() => navigate({ to: "/w/$walletId", params: { walletId: id } })}
            rightSection={
              <Text span size="xs" c="dimmed">
                {role}
              </Text>
            }
          >
            {name === account ? name : `${account}: ${name}`}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <ColorSchemeItem />
        <Menu.Label>{session.person?.email}</Menu.Label>
        <Menu.Item onClick={() => signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
