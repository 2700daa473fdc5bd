import { type Micros, priceMicros } from "../lib/money.ts";
import type { MaxOnlyDomains, SourcePolicy } from "../lib/source-policy.ts";
import type { CostCaps } from "../limits/cost-caps.ts";
import type {
  DomainFilter,
  Provider,
  QueryLimit,
  QueryOptions,
  Upstream,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamSearch,
  UpstreamSuccess,
} from "../providers/provider.ts";
import { scopeOf } from "./circuit.ts";
import { accepts } from "./query-limit.ts";
import { createUpstreamState, type KeyState, type UpstreamReport, type UpstreamState } from "./upstream-state.ts";

// Decides which upstream to query, with which of its keys, and which one next if it fails. The operator sets the order.
// Upstreams that cost more than the price of a search, and those with an open circuit, move behind the others. A search fails
// only when every upstream that accepts its query has failed, or is blocked by its circuit or by the operator's cost cap.

export interface Router {
  query: (search: UpstreamSearch, options: RouteOptions) => Promise<Routed>;
  /** The limits of the upstreams that can apply the policy. At least one upstream must accept a query. */
  queryLimits: (sources?: SourcePolicy) => QueryLimit[];
  maxOnlyDomains: () => MaxOnlyDomains;
  /** Replaces the upstreams. Searches in progress continue with the previous ones. */
  replaceUpstreams(upstreams: readonly Upstream[]): void;
  recordCharge(upstream: string, charge: Micros): void;
  report(): UpstreamReport[];
}

export interface RouteOptions extends Omit<QueryOptions, "onSent"> {
  calls: CallRecorder;
}

/** Receives the calls of one search. Each is sent or not; if sent, it is answered or fails. */
export interface CallRecorder {
  /** The upstream may charge for the call from now on. */
  recordSent(provider: string, cost: Micros): void;
  /** `isOpen`: the upstream's circuit is open after this call. */
  recordAnswer(answer: UpstreamAnswer, isOpen: boolean): void;
}

export interface Routed {
  /** Undefined if no upstream accepts the query, or none is configured. */
  answer: UpstreamAnswer | undefined;
  /** The number of upstreams queried. */
  queried: number;
}

export interface RouterDependencies {
  upstreams: readonly Upstream[];
  caps: Pick<CostCaps, "setCaps" | "recordCost" | "reachedFor" | "report">;
  callProvider: (provider: Provider, search: UpstreamSearch, options: QueryOptions) => Promise<UpstreamAnswer>;
  /** `isOpen`: whether the upstream's circuit is open after this call. */
  onCall: (answer: UpstreamAnswer, isOpen: boolean) => void;
}

/** A possible call. */
interface Candidate {
  upstream: UpstreamState;
  key: KeyState;
}

export function createRouter({ upstreams: configured, caps, callProvider, onCall }: RouterDependencies): Router {
  caps.setCaps(configured);
  let upstreams = configured.map((upstream) => createUpstreamState(upstream, caps));

  async function call(
    { upstream, key: { provider, startCall } }: Candidate,
    search: UpstreamSearch,
    { calls, ...options }: RouteOptions,
  ): Promise<UpstreamAnswer> {
    const sent = toUpstreamSearch(provider, search);
    const cost = provider.costMicros(sent.n);
    const onSent = (): void => {
      upstream.health.recordCost(cost);
      caps.recordCost(provider.name, cost);
      calls.recordSent(provider.name, cost);
    };
    const recordAnswer = startCall(Date.now());
    const endAttempt = options.startAttempt?.(provider.name);
    const answer = await callProvider(provider, sent, { ...options, onSent });
    endAttempt?.(answer.ok ? "ok" : answer.reason, answer.ok ? undefined : answer.upstreamStatus);
    recordAnswer(answer, Date.now());
    const isOpen = upstream.isOpen(Date.now());
    calls.recordAnswer(answer, isOpen);
    onCall(answer, isOpen);
    return answer;
  }

  async function query(search: UpstreamSearch, { deadlineMs, ...options }: RouteOptions): Promise<Routed> {
    const startedAt = performance.now();
    const queue = inOrder(upstreams, search, Date.now());
    const queried = new Set<UpstreamState>();
    const done = new Set<UpstreamState>();
    let failure: UpstreamFailure | undefined;
    let unconfirmed: UpstreamSuccess | undefined;
    for (const [index, candidate] of queue.entries()) {
      const { upstream, key } = candidate;
      // Another search may have opened the circuit or reached the cap in the meantime.
      if (done.has(upstream) || key.isBlocked(Date.now())) continue;
      const leftMs = Math.max(0, deadlineMs - (performance.now() - startedAt));
      if (queried.size > 0 && leftMs === 0) break;
      const hasOthers = queue
        .slice(index + 1)
        .some((other) => other.upstream !== upstream && !done.has(other.upstream));
      queried.add(upstream);
      const answer = await call(candidate, search, { ...options, deadlineMs: hasOthers ? leftMs / 2 : leftMs });
      if (!answer.ok && answer.reason === "aborted") return { answer, queried: queried.size };
      if (answer.ok && isConclusive(answer, key.provider, unconfirmed)) return { answer, queried: queried.size };
      if (answer.ok) unconfirmed = answer;
      else failure ??= answer;
      // Another key helps only if the failure concerns this one.
      if (answer.ok || scopeOf(answer.reason) !== "key") done.add(upstream);
    }
    // No other upstream contradicted the empty result. Of several failures, report the first upstream's.
    return { answer: unconfirmed ?? failure ?? findBlocked(upstreams, search, options), queried: queried.size };
  }

  return {
    query,
    replaceUpstreams(replacements) {
      // The circuits are closed, because a new key may repair what opened them.
      caps.setCaps(replacements);
      upstreams = replacements.map((upstream) =>
        createUpstreamState(upstream, caps, upstreams.find(({ name }) => name === upstream.name)?.health),
      );
    },
    queryLimits: (sources) => limitsOf(upstreams, sources),
    maxOnlyDomains: () => maxOnlyOf(upstreams),
    recordCharge: (upstream, charge) => upstreams.find(({ name }) => name === upstream)?.health.recordCharge(charge),
    report: () => upstreams.map((upstream) => upstream.report(Date.now())),
  };
}

/** Some upstreams return an empty result instead of an error. It counts once a second upstream is empty too. */
function isConclusive(answer: UpstreamSuccess, provider: Provider, unconfirmed: UpstreamSuccess | undefined): boolean {
  return answer.hits.length > 0 || !provider.emptyIsUnreliable || unconfirmed !== undefined;
}

function inOrder(upstreams: readonly UpstreamState[], search: UpstreamSearch, nowMs: number): Candidate[] {
  const penalty = ({ upstream: { provider }, key }: Candidate): number =>
    (key.isOpen(nowMs) ? 2 : 0) + (provider.costMicros(candidateCount(provider, search.n)) > priceMicros ? 1 : 0);
  return upstreams
    .filter(({ provider }) => acceptsSearch(provider, search))
    .flatMap((upstream) => upstream.keys.map((key) => ({ upstream, key })))
    .filter(({ key }) => !key.isBlocked(nowMs))
    .toSorted((a, b) => penalty(a) - penalty(b));
}

function acceptsSearch(provider: Provider, { query, sources }: UpstreamSearch): boolean {
  return accepts(provider.queryLimit, query) && canApply(provider, sources);
}

/**
 * Whether the upstream can find results that the policy allows. Blocked domains can be removed from its results, but a search
 * of the whole web has few or no results of given domains.
 */
function canApply({ domainFilter }: Provider, sources: SourcePolicy | undefined): boolean {
  return sources?.only === undefined || sources.only.length <= (domainFilter?.only ?? 0);
}

function limitsOf(upstreams: readonly UpstreamState[], sources: SourcePolicy | undefined): QueryLimit[] {
  return upstreams.filter(({ provider }) => canApply(provider, sources)).map(({ provider }) => provider.queryLimit);
}

function maxOnlyOf(upstreams: readonly UpstreamState[]): MaxOnlyDomains {
  if (upstreams.length === 0) return undefined;
  return Math.max(...upstreams.map(({ provider }) => provider.domainFilter?.only ?? 0));
}

/** The search as this upstream gets it: with more candidates, and of the policy what its parameters can express. */
function toUpstreamSearch(provider: Provider, search: UpstreamSearch): UpstreamSearch {
  const { sources, ...rest } = search;
  const fitting = sources && fitSources(sources, provider.domainFilter);
  return { ...rest, n: candidateCount(provider, search.n), ...(fitting && { sources: fitting }) };
}

/** Either list, because most upstreams do not accept both. The rest of the policy is applied to the results. */
function fitSources({ only, block }: SourcePolicy, filter: DomainFilter | undefined): SourcePolicy | undefined {
  if (!filter) return undefined;
  return only ? { only, block: [] } : { block: block.slice(0, filter.block) };
}

/** The failure to report if no call was sent, from the circuit or cap that ends first. */
function findBlocked(
  upstreams: readonly UpstreamState[],
  search: UpstreamSearch,
  { startAttempt }: Pick<RouteOptions, "startAttempt">,
): UpstreamFailure | undefined {
  const now = Date.now();
  const blocked = upstreams
    .filter(({ provider }) => acceptsSearch(provider, search))
    .flatMap(({ keys }) => keys.flatMap((key) => key.blockedBy(now) ?? []))
    .toSorted((a, b) => (a.retryAfterSeconds ?? 0) - (b.retryAfterSeconds ?? 0));
  for (const { provider, blockedBy } of blocked)
    startAttempt?.(provider)(blockedBy === "cap" ? "cap_reached" : "circuit_open");
  return blocked[0];
}

const maxCandidates = 20;

/** Ranking works better with more candidates: request up to twenty, within one page and at the cost of `n`. */
function candidateCount(provider: Provider, n: number): number {
  let count = Math.max(n, Math.min(maxCandidates, provider.resultsPerPage));
  while (count > n && provider.costMicros(count) > provider.costMicros(n)) count -= 1;
  return count;
}
