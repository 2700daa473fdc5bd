import type { WalletOfPerson } from "../api/session.ts";

const name = "pennyblack.wallet";

/** The wallet this browser looked at last, if it is still one of the person's, else the first. */
export function lastWallet(wallets: readonly WalletOfPerson[]): WalletOfPerson | undefined {
  const id = localStorage.getItem(name);
  return wallets.find((wallet) => wallet.id === id) ?? wallets[0];
}

export function rememberWallet(id: string): void {
  localStorage.setItem(name, id);
}
