import { useRouteContext } from "@tanstack/react-router";
import type { WalletMembership } from "../api/session.ts";

/** The wallet of the current page and the user's permissions. */
export function useWallet(): WalletMembership & { canEdit: boolean; isOwner: boolean } {
  const { wallet } = useRouteContext({ from: "/signed-in/w/$walletId" });
  return { ...wallet, canEdit: wallet.role !== "viewer", isOwner: wallet.role === "owner" };
}
