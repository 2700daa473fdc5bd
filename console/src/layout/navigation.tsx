import { Menu, UnstyledButton } from "@mantine/core";
import { Link, type LinkProps } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import { Icon, type IconName } from "../components/icon.tsx";
import stamp from "../stamp.svg";
import classes from "./layout.module.css";
import { useWallet } from "./use-wallet.ts";

export const navigationItems = [
  { to: "/w/$walletId", label: "Overview", icon: "overview" },
  { to: "/w/$walletId/playground", label: "Playground", icon: "playground" },
  { to: "/w/$walletId/keys", label: "Keys", icon: "keys" },
  { to: "/w/$walletId/usage", label: "Usage", icon: "usage" },
  { to: "/w/$walletId/budgets", label: "Budgets", icon: "budgets" },
  { to: "/w/$walletId/ledger", label: "Ledger", icon: "ledger" },
  { to: "/w/$walletId/top-up", label: "Top up", icon: "top-up" },
  { to: "/w/$walletId/alerts", label: "Alerts", icon: "alerts" },
  { to: "/w/$walletId/apps", label: "Apps", icon: "apps" },
  { to: "/w/$walletId/lens", label: "Lens inspector", icon: "lens" },
  { to: "/w/$walletId/activity", label: "Activity", icon: "activity" },
  { to: "/w/$walletId/team", label: "Team", icon: "team" },
] as const satisfies { to: LinkProps["to"]; label: string; icon: IconName }[];

/** These search, or belong to a person. */
const hiddenFromOperators = new Set<string>(["Playground", "Apps", "Lens inspector"]);

/** The pages that the signed-in person, or operator, can open. */
export function useNavigationItems() {
  const { operator } = useSession();
  return operator === undefined
    ? navigationItems
    : navigationItems.filter(({ label }) => !hiddenFromOperators.has(label));
}

export function Sidebar() {
  const { id } = useWallet();
  const items = useNavigationItems();
  return (
    <nav className={classes.sidebar} aria-label="Pages">
      <Link to="/w/$walletId" params={{ walletId: id }} className={classes.brand}>
        <img src={stamp} alt="" width="20" height="20" />
        Pennyblack
      </Link>
      <ul className={classes.navList}>
        {items.map(({ to, label, icon }) => (
          <li key={to}>
            <Link
              to={to}
              params={{ walletId: id }}
              className={classes.navItem}
              activeOptions={{ exact: true, includeSearch: false }}
            >
              <Icon name={icon} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
      <ul className={classes.sidebarFooter}>
        <li>
          <a className={classes.navItem} href="/docs/">
            <Icon name="docs" />
            Docs
          </a>
        </li>
      </ul>
    </nav>
  );
}

/** Mobile navigation: the first four pages, and a menu with the rest. */
export function BottomBar() {
  const { id } = useWallet();
  const items = useNavigationItems();
  return (
    <nav className={classes.bottomBar} aria-label="Pages">
      {items.slice(0, 4).map(({ to, label, icon }) => (
        <Link
          key={to}
          to={to}
          params={{ walletId: id }}
          className={classes.tab}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          <Icon name={icon} />
          {label}
        </Link>
      ))}
      <Menu position="top-end" width={200}>
        <Menu.Target>
          <UnstyledButton className={classes.tab}>
            <Icon name="more" />
            More
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          {items.slice(4).map(({ to, label, icon }) => (
            <Menu.Item
              key={to}
              component={Link}
              to={to}
              params={{ walletId: id } as never}
              leftSection={<Icon name={icon} />}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item component="a" href="/docs/" leftSection={<Icon name="docs" />}>
            Docs
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </nav>
  );
}
