import type { SearchList } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { type Mode, walletPath } from "./wallet.ts";

/** Parameters of GET /v1/searches. */
export interface SearchFilter {
  mode: Mode;
  from?: string | undefined;
  to?: string | undefined;
  key_id?: string | undefined;
  category?: string | undefined;
  outcome?: string | undefined;
  run?: string | undefined;
  /** The id of an end user, or its hash. */
  for?: string | undefined;
}

export const searchesQuery = (walletId: string, filter: SearchFilter) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "searches", "list", filter],
    queryFn: ({ pageParam }) =>
      api<SearchList>(walletPath(walletId, `searches?${toQuery({ ...filter, cursor: pageParam, limit: "20" })}`)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

/** The latest search, live or test. */
export const lastSearchQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "last"],
    queryFn: async () => (await api<SearchList>(walletPath(walletId, "searches?limit=1"))).searches[0] ?? null,
  });

export const lastFailuresQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "failed", mode],
    queryFn: async () =>
      (await api<SearchList>(walletPath(walletId, `searches?outcome=failed&limit=5&mode=${mode}`))).searches,
  });
