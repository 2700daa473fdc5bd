import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import type { SearchFact } from "./ledger.ts";
import { type Mode, walletPath } from "./wallet.ts";

interface Searches {
  searches: SearchFact[];
}

/** The newest of all, of either mode. */
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
