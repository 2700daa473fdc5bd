import { authorityNdcg } from "./authority-ndcg.ts";
import { bootstrapMean, type Interval } from "./bootstrap.ts";
import type { NavigationalQuery, RatedQuery } from "./read-data.ts";
import type { System } from "./systems.ts";

export interface CredibilityScore {
  candidates: number;
  mean: number;
  /** Against the upstream's order, query by query. */
  gain: Interval;
  wins: number;
  losses: number;
}

export interface NavigationalScore {
  /** The part of the queries whose official site stands first, and among the first three. */
  keepFirst: number;
  keepTopThree: number;
}

/** How credible the first ten are that a system picks from the upstream's first 20 or 40. */
export function evaluateCredibility(
  queries: readonly RatedQuery[],
  { system, upstream, candidates }: { system: System; upstream: System; candidates: number },
): CredibilityScore {
  const scores = queries.map((query) => scoreQuery(query, system, candidates));
  const gains = queries.map((query, index) => (scores[index] ?? 0) - scoreQuery(query, upstream, candidates));
  return {
    candidates,
    mean: bootstrapMean(scores).mean,
    gain: bootstrapMean(gains),
    wins: gains.filter((gain) => gain > aTie).length,
    losses: gains.filter((gain) => gain < -aTie).length,
  };
}

const aTie = 1e-9;

function scoreQuery(query: RatedQuery, system: System, candidates: number): number {
  const shown = system(query, query.results.slice(0, candidates));
  return authorityNdcg({ shown: shown.map(({ rating }) => rating), all: query.results.map(({ rating }) => rating) });
}

const navigationalCandidates = 20;

/** No category, as such a query comes in practice. The official site is the very address that the upstream put first. */
export function evaluateNavigational(queries: readonly NavigationalQuery[], system: System): NavigationalScore {
  const places = queries.map(({ query, results }) => {
    const shown = system({ query, category: null }, results.slice(0, navigationalCandidates));
    return shown.findIndex(({ url }) => url === results[0]?.url);
  });
  const part = (isKept: (place: number) => boolean): number => places.filter(isKept).length / places.length;
  return { keepFirst: part((place) => place === 0), keepTopThree: part((place) => place >= 0 && place < 3) };
}
