import { average, bootstrapMean, type Interval } from "./bootstrap.ts";
import type { RelevanceQuery } from "./read-relevance.ts";
import type { System } from "./systems.ts";

/** Means over queries, and the paired change against the upstream order. */
export interface RelevanceScore {
  /** Reciprocal rank of the first relevant result among ten, 0 if there is none. */
  mrr: Measure;
  /** Whether a relevant result is first, in the top three, and in the top ten. */
  success1: Measure;
  success3: Measure;
  success10: Measure;
  /** Share of queries whose first ten results are in another order than the upstream's. */
  changedOrder: number;
}

export interface Measure {
  mean: number;
  change: Interval;
}

const depth = 10;

/** `category` is that of all queries, or null. */
export function evaluateRelevance(
  queries: readonly RelevanceQuery[],
  { system, upstream, category }: { system: System; upstream: System; category: string | null },
): RelevanceScore {
  const pairs = queries.map(({ query, relevant, results }) => {
    const urlsOf = (order: System): string[] => order({ query, category }, results).map(({ url }) => url);
    const [shown, before] = [urlsOf(system).slice(0, depth), urlsOf(upstream).slice(0, depth)];
    const rankIn = (urls: readonly string[]): number => urls.findIndex((url) => relevant.includes(url)) + 1;
    return { rank: rankIn(shown), rankBefore: rankIn(before), isChanged: shown.join(" ") !== before.join(" ") };
  });
  const measure = (valueOf: (rank: number) => number): Measure => ({
    mean: average(pairs.map(({ rank }) => valueOf(rank))),
    change: bootstrapMean(pairs.map(({ rank, rankBefore }) => valueOf(rank) - valueOf(rankBefore))),
  });
  const success = (limit: number): Measure => measure((rank) => (rank > 0 && rank <= limit ? 1 : 0));
  return {
    mrr: measure((rank) => (rank === 0 ? 0 : 1 / rank)),
    success1: success(1),
    success3: success(3),
    success10: success(10),
    changedOrder: pairs.filter(({ isChanged }) => isChanged).length / pairs.length,
  };
}
