import { useRouteContext } from "@tanstack/react-router";
import type { WalletOfPerson } from "../api/session.ts";

/** The wallet of the page, and what the person may do in it. */
export function useWallet(): WalletOfPerson & { mayChange: boolean; mayLead: boolean } {
  const { wallet } = useRouteContext({ from: "/signed-in/w/$walletId" });
  return { ...wallet, mayChange: wallet.role !== "viewer", mayLead: wallet.role === "owner" };
}
