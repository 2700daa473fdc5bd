import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { type Mode, walletPath } from "./wallet.ts";

export const entryKinds = ["search", "refund", "top_up", "credit", "reversal", "reinstatement", "settlement"] as const;
export type EntryKind = (typeof entryKinds)[number];

export interface Entry {
  id: string;
  kind: EntryKind;
  amount: string;
  request_id: string | null;
  created_at: string;
  /** After the entry. Missing where the list leaves some out. */
  balance?: string;
}

export interface EntriesWanted {
  kind?: EntryKind | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export interface SearchFact {
  request_id: string;
  at: string;
  mode: Mode;
  key_id: string;
  key_name: string | null;
  category: string | null;
  outcome: string;
  charged: string;
  ms: number | null;
  run: string | null;
}

/** Newest first, page by page. */
export const entriesQuery = (walletId: string, wanted: EntriesWanted) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "entries", wanted],
    queryFn: ({ pageParam }) =>
      api<{ entries: Entry[]; next_cursor: string | null }>(
        walletPath(walletId, `wallet/entries?${toQuery({ ...wanted, cursor: pageParam, limit: "50" })}`),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export const searchQuery = (walletId: string, requestId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "search", requestId],
    queryFn: () =>
      api<SearchFact & { entries: Entry[] }>(walletPath(walletId, `searches/${encodeURIComponent(requestId)}`)),
  });

/** Every kind of entry on the days wanted. Without a first day the server would take the last thirty. */
export function exportPath(walletId: string, { from = "2020-01-01", to }: EntriesWanted): string {
  return walletPath(walletId, `wallet/entries.csv?${toQuery({ from, to })}`);
}

export function toQuery(parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams(given).toString();
}
