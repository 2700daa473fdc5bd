import type { EntryKind, EntryList, SearchDetails } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

export interface EntryFilter {
  kind?: EntryKind | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export const entriesQuery = (walletId: string, filter: EntryFilter) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "entries", filter],
    queryFn: ({ pageParam }) =>
      api<EntryList>(walletPath(walletId, `wallet/entries?${toQuery({ ...filter, cursor: pageParam, limit: "50" })}`)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const searchQuery = (walletId: string, requestId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "search", requestId],
    queryFn: () => api<SearchDetails>(walletPath(walletId, `searches/${encodeURIComponent(requestId)}`)),
  });

/** Exports all kinds of entries. Without `from` the server would default to the last 30 days. */
export function exportPath(walletId: string, { from = "2020-01-01", to }: EntryFilter): string {
  return walletPath(walletId, `wallet/entries.csv?${toQuery({ from, to })}`);
}

export function toQuery(parameters: Record<string, string | undefined>): string {
  const defined = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(defined).toString();
}
