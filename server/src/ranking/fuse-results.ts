import { type FusedRanks, mergeDuplicates, type Page } from "./merge-duplicates.ts";

/** The constant of the original publication: a small difference in rank matters less than being listed by both. */
const rankOffset = 60;

/**
 * Distinct pages of two upstreams by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). Pages with equal scores
 * are in the order of the upstreams, and a page that both listed is shown as the first upstream describes it.
 */
export function fuseResults<Result extends { url: string }>(
  first: readonly Result[],
  second: readonly Result[],
): Page<Result>[] {
  const pages = new Map<string, Page<Result> & { fused: FusedRanks }>();
  for (const page of mergeDuplicates(first)) {
    pages.set(page.key, { ...page, fused: { first: page.upstreamRank, second: undefined } });
  }
  for (const page of mergeDuplicates(second)) {
    const known = pages.get(page.key);
    if (known) known.fused.second = page.upstreamRank;
    else pages.set(page.key, { ...page, fused: { first: undefined, second: page.upstreamRank } });
  }
  return [...pages.values()]
    .toSorted((a, b) => fusionScore(b.fused) - fusionScore(a.fused))
    .map((page, index) => ({ ...page, upstreamRank: index + 1 }));
}

function fusionScore({ first, second }: FusedRanks): number {
  const share = (rank: number | undefined): number => (rank === undefined ? 0 : 1 / (rankOffset + rank));
  return share(first) + share(second);
}
