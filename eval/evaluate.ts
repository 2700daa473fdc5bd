import { authorityNdcg } from "./authority-ndcg.ts";
import { average, bootstrapMean, type Interval } from "./bootstrap.ts";
import type { NavigationalQuery, RatedQuery } from "./read-data.ts";
import type { System } from "./systems.ts";

export interface CredibilityScore {
  candidates: number;
  mean: number;
  /** Paired difference to the upstream order. */
  gain: Interval;
  wins: number;
  losses: number;
}

export interface NavigationalScore {
  /** The share of queries whose official site is ranked first, and in the top three. */
  keepFirst: number;
  keepTopThree: number;
}

/** Scores the ten results that a system picks from the upstream's first 20 or 40. */
export function evaluateCredibility(
  queries: readonly RatedQuery[],
  { system, upstream, candidates }: { system: System; upstream: System; candidates: number },
): CredibilityScore {
  const scores = queries.map((query) => scoreQuery(query, system, candidates));
  const gains = queries.map((query, index) => (scores[index] ?? 0) - scoreQuery(query, upstream, candidates));
  return {
    candidates,
    mean: average(scores),
    gain: bootstrapMean(gains),
    wins: gains.filter((gain) => gain > tieThreshold).length,
    losses: gains.filter((gain) => gain < -tieThreshold).length,
  };
}

const tieThreshold = 1e-9;

function scoreQuery(query: RatedQuery, system: System, candidates: number): number {
  const shown = system(query, query.results.slice(0, candidates));
  return authorityNdcg({ shown: shown.map(({ rating }) => rating), all: query.results.map(({ rating }) => rating) });
}

const navigationalCandidates = 20;

/** Navigational queries have no category, as in practice. The upstream's first result is the official site. */
export function evaluateNavigational(queries: readonly NavigationalQuery[], system: System): NavigationalScore {
  const positions = queries.map(({ query, results }) => {
    const shown = system({ query, category: null }, results.slice(0, navigationalCandidates));
    return shown.findIndex(({ url }) => url === results[0]?.url);
  });
  const share = (matches: (position: number) => boolean): number => positions.filter(matches).length / positions.length;
  return {
    keepFirst: share((position) => position === 0),
    keepTopThree: share((position) => position >= 0 && position < 3),
  };
}
