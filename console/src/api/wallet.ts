import type { Wallet, WalletSummary } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";

export type Mode = WalletSummary["mode"];

export function walletPath(walletId: string, rest: string): string {
  return `/console/api/wallets/${walletId}/${rest}`;
}

export const walletQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId],
    queryFn: () => api<Wallet>(walletPath(walletId, "wallet")),
  });

export const summaryQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "summary", mode],
    queryFn: () => api<WalletSummary>(walletPath(walletId, `wallet/summary?mode=${mode}`)),
    refetchInterval: 60_000,
  });
