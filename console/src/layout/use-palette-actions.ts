import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useSession } from "../api/session.ts";
import type { IconName } from "../components/icon.tsx";
import type { Action } from "./find-commands.ts";
import { useMode } from "./mode.tsx";
import { useWallet } from "./use-wallet.ts";

export interface PaletteAction extends Action {
  icon: IconName;
  /** Keeps the palette open. */
  staysOpen?: boolean;
  run: () => unknown;
}

const themes = [
  ["light", "light"],
  ["dark", "dark"],
  ["auto", "system"],
] as const;

/** The actions that the user's role allows. */
export function usePaletteActions({ onLookup }: { onLookup: () => void }): PaletteAction[] {
  const { id: walletId, canEdit, isOwner } = useWallet();
  const { wallets, operator } = useSession();
  const { mode, setMode } = useMode();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const navigate = useNavigate();
  const params = { walletId };
  const other = mode === "live" ? "test" : "live";
  const actions: (PaletteAction | false)[] = [
    canEdit && {
      label: "Create key",
      keywords: "new api key",
      icon: "keys",
      run: () => navigate({ to: "/w/$walletId/keys", params, search: { dialog: "create" } }),
    },
    canEdit && {
      label: "Create budget",
      keywords: "new shared spending limit team",
      icon: "budgets",
      run: () => navigate({ to: "/w/$walletId/budgets", params, search: { dialog: "create" } }),
    },
    canEdit && {
      label: "Top up this wallet",
      keywords: "add credit pay balance money",
      icon: "top-up",
      run: () => navigate({ to: "/w/$walletId/top-up", params }),
    },
    canEdit && {
      label: "Connect an app",
      keywords: "mcp claude cursor oauth assistant agent",
      icon: "apps",
      run: () => navigate({ to: "/w/$walletId/apps", params }),
    },
    {
      label: "Find a request by ID",
      keywords: "look up search charged receipt",
      icon: "ledger",
      staysOpen: true,
      run: onLookup,
    },
    operator === undefined && {
      label: "Inspect the ranking of a page",
      keywords: "lens tier rule source list object url domain",
      icon: "lens",
      run: () => navigate({ to: "/w/$walletId/lens", params }),
    },
    isOwner && {
      label: "Invite a member",
      keywords: "team person",
      icon: "team",
      run: () => navigate({ to: "/w/$walletId/team", params, search: { dialog: "invite" } }),
    },
    { label: `Switch to ${other} mode`, keywords: "live test", icon: "switch", run: () => setMode(other) },
    ...wallets
      .filter(({ id }) => id !== walletId)
      .map(({ id, name, account_name: account }) => ({
        label: `Switch to wallet ${name}`,
        keywords: `account ${account}`,
        icon: "accounts" as const,
        run: () => navigate({ to: "/w/$walletId", params: { walletId: id } }),
      })),
    ...themes
      .filter(([scheme]) => scheme !== colorScheme)
      .map(([scheme, name]) => ({
        label: `Use ${name} theme`,
        keywords: "color scheme appearance",
        icon: "theme" as const,
        run: () => setColorScheme(scheme),
      })),
    {
      label: "Open docs",
      keywords: "documentation help",
      icon: "docs",
      run: () => globalThis.open("/docs/", "_blank"),
    },
  ];
  return actions.filter((action) => action !== false);
}
