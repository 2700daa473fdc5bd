import { Menu, SegmentedControl, Text, UnstyledButton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Fragment } from "react";
import { api } from "../api/client.ts";
import { useSession, type WalletMembership } from "../api/session.ts";
import { summaryQuery } from "../api/wallet.ts";
import { Icon } from "../components/icon.tsx";
import { formatMoney } from "../format/format-money.ts";
import { formatDays } from "../format/format-time.ts";
import { ColorSchemeItem } from "./color-scheme.tsx";
import { CommandPaletteButton } from "./command-palette-button.tsx";
import classes from "./layout.module.css";
import { useMode } from "./mode.tsx";
import { TimeZoneItem } from "./time-zone-item.tsx";
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
          , {formatDays(data.runway_days)}
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
        <UnstyledButton className={classes.walletButton}>
          <span className={classes.walletInitial} data-initial={wallet.name.slice(0, 1).toUpperCase()} />
          <span className={classes.walletName}>{wallet.name}</span>
          <span className="visually-hidden">, switch wallet or sign out</span>
          <Icon name="chevron" />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {groupByAccount(session.wallets).map(([account, wallets]) => (
          <Fragment key={account}>
            <Menu.Label>Account: {wallets[0]?.account_name}</Menu.Label>
            {wallets.map(({ id, name, role }) => (
              <Menu.Item
                key={id}
                role="menuitemradio"
                aria-checked={id === wallet.id}
                onClick={() => navigate({ to: "/w/$walletId", params: { walletId: id } })}
                leftSection={id === wallet.id ? <Icon name="check" /> : <span className={classes.noIcon} />}
                rightSection={
                  <Text span size="xs" c="dimmed" tt="capitalize">
                    {role}
                  </Text>
                }
              >
                {name}
              </Menu.Item>
            ))}
          </Fragment>
        ))}
        <Menu.Divider />
        <ColorSchemeItem />
        <TimeZoneItem />
        <Menu.Divider />
        {session.operator === undefined ? (
          <>
            <Menu.Label className={classes.email}>Signed in as {session.person?.email}</Menu.Label>
            <Menu.Item onClick={() => signOut()}>Sign out</Menu.Item>
          </>
        ) : (
          <Menu.Item component="a" href="/console/#accounts">
            Operator console
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function groupByAccount(wallets: readonly WalletMembership[]): [string, WalletMembership[]][] {
  return [...Map.groupBy(wallets, ({ account_id: account }) => account)];
}
