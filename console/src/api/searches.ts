import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import type { SearchRecord } from "./ledger.ts";
import { type Mode, walletPath } from "./wallet.ts";

interface Searches {
  searches: SearchRecord[];
}

/** The latest search, live or test. */
export const lastSearchQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "last"],
    queryFn: async () => (await api<Searches>(walletPath(walletId, "searches?limit=1"))).searches[0] ?? null,
  });

export const lastFailuresQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "failed", mode],
    queryFn: async () =>
      (await api<Searches>(walletPath(walletId, `searches?outcome=failed&limit=5&mode=${mode}`))).searches,
    refetchInterval: 15_000,
  });
