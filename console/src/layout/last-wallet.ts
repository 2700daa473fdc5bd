import type { WalletMembership } from "../api/session.ts";

const storageKey = "pennyblack.wallet";

/** The wallet last opened in this browser, or the first one if it is no longer available. */
export function readLastWallet(wallets: readonly WalletMembership[]): WalletMembership | undefined {
  const id = localStorage.getItem(storageKey);
  return wallets.find((wallet) => wallet.id === id) ?? wallets[0];
}

export function saveLastWallet(id: string): void {
  localStorage.setItem(storageKey, id);
}
