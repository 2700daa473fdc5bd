import type { Search, SearchList } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { type Mode, walletPath } from "./wallet.ts";

/** Searches, requests without a hold, or both. */
export type RequestKind = Search["kind"] | "all";

/** Parameters of GET /v1/searches. */
export interface SearchFilter {
  kind: RequestKind;
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

/** The latest search, refusal or replay, live or test. */
export const lastRequestQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "last"],
    queryFn: async () => (await api<SearchList>(walletPath(walletId, "searches?kind=all&limit=1"))).searches[0] ?? null,
  });

export const latestSearchesQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "latest", mode],
    queryFn: async () => (await api<SearchList>(walletPath(walletId, `searches?limit=5&mode=${mode}`))).searches,
  });

/** The latest failed searches and refusals. */
export const lastFailuresQuery = (walletId: string, mode: Mode) =>
  queryOptions({
    queryKey: ["wallet", walletId, "searches", "failed", mode],
    queryFn: async () =>
      (await api<SearchList>(walletPath(walletId, `searches?kind=all&outcome=failed&limit=5&mode=${mode}`))).searches,
  });
