import { fuseResults } from "./fuse-results.ts";
import type { Lens } from "./lens.ts";
import { mergeDuplicates, type Page } from "./merge-duplicates.ts";
import { orderPages, type Rankable } from "./order-pages.ts";

/**
 * Returns the best `n` distinct pages: by authority and the upstream's rank if there is a lens, otherwise in the upstream's
 * order. Results are never changed. Deterministic.
 *
 *   merge duplicates, or fuse two upstreams -> tier from the lens -> score -> sort -> copies and the third page of a site to the tail -> anchor
 *
 * docs/ranking.md has the formula; explain-ranking.ts explains each position.
 */
export function rank<Result extends Rankable>(input: RankInput<Result>): Result[] {
  const { n, query = "", lens } = input;
  const pages = distinctPages(input);
  const ordered = lens === undefined ? pages : orderPages({ pages, query, lens, n });
  return ordered.slice(0, n).map(({ result }) => result);
}

export interface RankInput<Result extends Rankable> {
  results: readonly Result[];
  /** The results of a second upstream, merged with `results` before the lens applies. */
  fusedWith?: readonly Result[] | undefined;
  n: number;
  query?: string | undefined;
  lens?: Lens | undefined;
}

/** The candidates that are scored. */
export function distinctPages<Result extends Rankable>({ results, fusedWith }: RankInput<Result>): Page<Result>[] {
  return fusedWith === undefined ? mergeDuplicates(results) : fuseResults(results, fusedWith);
}
