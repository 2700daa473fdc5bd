import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { type Mode, walletPath } from "./wallet.ts";

export const entryKinds = [
  "search",
  "refund",
  "top_up",
  "credit",
  "reversal",
  "reinstatement",
  "settlement",
  "correction",
  "payout",
  "breakage",
  "move",
] as const;
export type EntryKind = (typeof entryKinds)[number];

export interface Entry {
  id: string;
  kind: EntryKind;
  amount: string;
  request_id: string | null;
  created_at: string;
  /** Balance after the entry. Absent in filtered lists. */
  balance?: string;
}

export interface EntryFilter {
  kind?: EntryKind | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export interface SearchRecord {
  request_id: string;
  at: string;
  mode: Mode;
  key_id: string;
  key_name: string | null;
  category: string | null;
  outcome: string;
  charged: string;
  ms: number | null;
  /** A hash that starts with `~`, or the id if the wallet stores plain ids. */
  end_user: string | null;
  run: string | null;
}

export const entriesQuery = (walletId: string, filter: EntryFilter) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "entries", filter],
    queryFn: ({ pageParam }) =>
      api<{ entries: Entry[]; next_cursor: string | null }>(
        walletPath(walletId, `wallet/entries?${toQuery({ ...filter, cursor: pageParam, limit: "50" })}`),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const searchQuery = (walletId: string, requestId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "search", requestId],
    queryFn: () =>
      api<SearchRecord & { entries: Entry[] }>(walletPath(walletId, `searches/${encodeURIComponent(requestId)}`)),
  });

/** Exports all kinds of entries. Without `from` the server would default to the last 30 days. */
export function exportPath(walletId: string, { from = "2020-01-01", to }: EntryFilter): string {
  return walletPath(walletId, `wallet/entries.csv?${toQuery({ from, to })}`);
}

export function toQuery(parameters: Record<string, string | undefined>): string {
  const defined = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(defined).toString();
}
