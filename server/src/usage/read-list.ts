import type { Pool } from "../db/pool.ts";
import { readSearches, type SearchesQuery, type SearchView } from "../wallet/wallet.ts";
import { type RequestView, readRequests, type Unlisted } from "./read-requests.ts";

export const kinds = ["search", "refused", "replayed", "all"] as const;

export interface ListQuery extends SearchesQuery {
  kind: (typeof kinds)[number];
}

interface List {
  /** Newest first. */
  items: (SearchView | RequestView)[];
  /** Older items are not listed. */
  since: Date;
  /** Undefined without refusals and replays, or if the query has filters that their counts do not have. */
  unlisted: (Unlisted & { since: Date }) | undefined;
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined;
}

/** Searches, refusals and replays. With a filter, a page can be short or empty without being the last. */
export async function readList(pool: Pool, walletId: string, query: ListQuery): Promise<List> {
  const { kind, category } = query;
  const searches = kind === "search" || kind === "all" ? await readSearches(pool, walletId, query) : undefined;
  // Refusals and replays have no category.
  const hasRequests = kind !== "search" && (category === undefined || category === "");
  const requests = hasRequests ? await readRequests(pool, walletId, { ...query, kind }) : undefined;
  const pages: Page[] = [
    ...(searches ? [{ items: searches.searches, next: searches.next }] : []),
    ...(requests ? [{ items: requests.requests, next: requests.next }] : []),
  ];
  return {
    ...merge(pages, query.limit),
    since: searches?.since ?? requests?.since ?? new Date(0),
    unlisted: requests?.unlisted && { ...requests.unlisted, since: requests.since },
  };
}

interface Page {
  items: readonly (SearchView | RequestView)[];
  next: string | undefined;
}

/** A source with further items contributes no items older than the last one that it has returned or scanned. */
function merge(pages: readonly Page[], limit: number): Pick<List, "items" | "next"> {
  const [bound] = pages
    .flatMap(({ next }) => next ?? [])
    .toSorted()
    .toReversed();
  const known = pages
    .flatMap(({ items }) => items)
    .filter(({ id }) => bound === undefined || id >= bound)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const items = known.slice(0, limit);
  return { items, next: known.length > limit ? items.at(-1)?.id : bound };
}
