import type { Lens } from "./lens.ts";
import { mergeDuplicates } from "./merge-duplicates.ts";
import { orderPages, type Rankable } from "./order-pages.ts";

/**
 * Returns the best `n` distinct pages: by authority and the upstream's rank if there is a lens, otherwise in the upstream's
 * order. Results are never changed. Deterministic.
 *
 *   merge duplicates -> tier from the lens -> score -> limit of weaker matches -> sort -> copies and the third page of a
 *   site to the tail -> anchor
 *
 * docs/ranking.md has the formula; explain-ranking.ts explains each position.
 */
export function rank<Result extends Rankable>({ results, n, query = "", lens }: RankInput<Result>): Result[] {
  const pages = mergeDuplicates(results);
  const ordered = lens === undefined ? pages : orderPages({ pages, query, lens, n });
  return ordered.slice(0, n).map(({ result }) => result);
}

export interface RankInput<Result extends Rankable> {
  results: readonly Result[];
  n: number;
  query?: string | undefined;
  lens?: Lens | undefined;
}
