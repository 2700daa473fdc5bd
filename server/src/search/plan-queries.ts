import { type Micros, priceMicros } from "../lib/money.ts";
import type { Provider, UpstreamSearch } from "../providers/provider.ts";
import type { Circuit } from "./circuit.ts";
import { accepts } from "./query-limit.ts";

// The operator sets the order of the upstreams. Those that cost more than the price of a search, and those with an open
// circuit, move behind the others but are never skipped. With fusion, the first two are queried at once if both are working
// and the price covers both.

interface Queryable {
  provider: Provider;
  circuit: Circuit;
}

/** The upstreams that accept the query, in the order in which to query them. Those in a group are queried at once. */
export function planQueries<Upstream extends Queryable>(
  upstreams: readonly Upstream[],
  search: UpstreamSearch,
  { isFusing, nowMs }: { isFusing: boolean; nowMs: number },
): Upstream[][] {
  const penalty = ({ provider, circuit }: Upstream): number =>
    (circuit.isOpen(nowMs) ? 2 : 0) + (costOf(provider, search.n) > priceMicros ? 1 : 0);
  const queue = upstreams
    .filter(({ provider }) => accepts(provider.queryLimit, search.query))
    .toSorted((a, b) => penalty(a) - penalty(b));
  const pair = isFusing ? findPair(queue, search.n) : [];
  const others = queue.filter((upstream) => !pair.includes(upstream)).map((upstream) => [upstream]);
  return pair.length === 0 ? others : [pair, ...others];
}

/** The first upstream and the next one that can be queried with it, or none. */
function findPair<Upstream extends Queryable>([first, ...others]: readonly Upstream[], n: number): Upstream[] {
  // During a trial, other searches must not depend on the upstream.
  const isWorking = ({ circuit }: Upstream): boolean => circuit.openUntilMs() === undefined;
  if (first === undefined || !isWorking(first)) return [];
  const leftMicros = priceMicros - costOf(first.provider, n);
  const second = others.find((upstream) => isWorking(upstream) && costOf(upstream.provider, n) <= leftMicros);
  return second === undefined ? [] : [first, second];
}

function costOf(provider: Provider, n: number): Micros {
  return provider.costMicros(candidateCount(provider, n));
}

const maxCandidates = 20;

/** Ranking works better with more candidates: request up to twenty, within one page and at the cost of `n`. */
export function candidateCount(provider: Provider, n: number): number {
  let count = Math.max(n, Math.min(maxCandidates, provider.resultsPerPage));
  while (count > n && provider.costMicros(count) > provider.costMicros(n)) count -= 1;
  return count;
}
