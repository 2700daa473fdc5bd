import { createContext, useContext } from "react";
import type { WalletMembership } from "../api/session.ts";

/** The wallet in the navigation. Undefined outside of it, such as on the sign-in page. */
export const WalletContext = createContext<WalletMembership | undefined>(undefined);

/** The wallet of the current page and the user's permissions. */
export function useWallet(): WalletMembership & { canEdit: boolean; isOwner: boolean } {
  const wallet = useContext(WalletContext);
  if (!wallet) throw new Error("useWallet requires WalletContext");
  return { ...wallet, canEdit: wallet.role !== "viewer", isOwner: wallet.role === "owner" };
}
