import { type Micros, priceMicros } from "../lib/money.ts";
import type {
  Provider,
  QueryLimit,
  QueryOptions,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamSearch,
  UpstreamSuccess,
} from "../providers/provider.ts";
import { type Circuit, createCircuit } from "./circuit.ts";
import { accepts } from "./query-limit.ts";
import { createUpstreamHealth, type HealthReport, type UpstreamHealth } from "./upstream-health.ts";

// Decides which upstream to query and which one next if it fails. The operator sets the order. Upstreams that cost more
// than the price of a search, and those with an open circuit, move behind the others but are never skipped: a search
// fails only when every upstream that accepts its query has failed.

export interface Router {
  query: (search: UpstreamSearch, options: RouteOptions) => Promise<Routed>;
  /** At least one of these must accept a query. */
  queryLimits: () => QueryLimit[];
  /** Searches in progress continue with the previous ones. */
  replaceProviders(providers: readonly Provider[]): void;
  recordCharge(provider: string, charge: Micros): void;
  report(): UpstreamReport[];
}

export interface RouteOptions extends Omit<QueryOptions, "onSent"> {
  calls: CallRecorder;
}

/** Receives the calls of one search: each is sent or not, and then answered or failed. */
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

export interface UpstreamReport extends HealthReport {
  name: string;
  documentation: string;
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
}

export interface RouterDependencies {
  providers: readonly Provider[];
  callProvider: (provider: Provider, search: UpstreamSearch, options: QueryOptions) => Promise<UpstreamAnswer>;
  /** `isOpen`: whether the upstream's circuit is open after this call. */
  onCall: (answer: UpstreamAnswer, isOpen: boolean) => void;
}

interface Upstream {
  provider: Provider;
  circuit: Circuit;
  health: UpstreamHealth;
}

export function createRouter({ providers, callProvider, onCall }: RouterDependencies): Router {
  let upstreams = providers.map((provider) => open(provider));

  /** The circuit is closed, because a new key may repair what opened it. */
  function open(provider: Provider, health = createUpstreamHealth()): Upstream {
    return { provider, circuit: createCircuit(), health };
  }

  async function queryOne(
    { provider, circuit, health }: Upstream,
    search: UpstreamSearch,
    { calls, ...options }: RouteOptions,
  ) {
    const n = candidateCount(provider, search.n);
    const cost = provider.costMicros(n);
    const onSent = (): void => {
      health.recordCost(cost);
      calls.recordSent(provider.name, cost);
    };
    const recordAnswer = circuit.startCall(Date.now());
    const endAttempt = options.startAttempt?.(provider.name);
    const answer = await callProvider(provider, { ...search, n }, { ...options, onSent });
    endAttempt?.(answer.ok ? "ok" : answer.reason, answer.ok ? undefined : answer.upstreamStatus);
    recordAnswer(answer, Date.now());
    health.recordCall(answer, Date.now());
    const isOpen = circuit.isOpen(Date.now());
    calls.recordAnswer(answer, isOpen);
    onCall(answer, isOpen);
    return answer;
  }

  async function query(search: UpstreamSearch, { deadlineMs, ...options }: RouteOptions): Promise<Routed> {
    const startedAt = performance.now();
    const queue = inOrder(upstreams, search, Date.now());
    let failure: UpstreamFailure | undefined;
    let unconfirmed: UpstreamSuccess | undefined;
    let queried = 0;
    for (const upstream of queue) {
      const leftMs = Math.max(0, deadlineMs - (performance.now() - startedAt));
      if (queried > 0 && leftMs === 0) break;
      const isLast = queried === queue.length - 1;
      queried += 1;
      const answer = await queryOne(upstream, search, { ...options, deadlineMs: isLast ? leftMs : leftMs / 2 });
      if (!answer.ok && answer.reason === "aborted") return { answer, queried };
      if (answer.ok && isConclusive(answer, upstream.provider, unconfirmed)) return { answer, queried };
      if (answer.ok) unconfirmed = answer;
      else failure ??= answer;
    }
    // No other upstream contradicted the empty result. Of several failures, report the first upstream's.
    return { answer: unconfirmed ?? failure, queried };
  }

  return {
    query,
    replaceProviders(replacements) {
      const healthOf = ({ name }: Provider): UpstreamHealth | undefined =>
        upstreams.find(({ provider }) => provider.name === name)?.health;
      upstreams = replacements.map((provider) => open(provider, healthOf(provider)));
    },
    queryLimits: () => upstreams.map(({ provider }) => provider.queryLimit),
    recordCharge: (name, charge) =>
      upstreams.find(({ provider }) => provider.name === name)?.health.recordCharge(charge),
    report: () => upstreams.map((upstream) => describe(upstream, Date.now())),
  };
}

/** Some upstreams return an empty result instead of an error. It counts once a second upstream is empty too. */
function isConclusive(answer: UpstreamSuccess, provider: Provider, unconfirmed: UpstreamSuccess | undefined): boolean {
  return answer.hits.length > 0 || !provider.emptyIsUnreliable || unconfirmed !== undefined;
}

function inOrder(upstreams: readonly Upstream[], search: UpstreamSearch, nowMs: number): Upstream[] {
  const penalty = ({ provider, circuit }: Upstream): number =>
    (circuit.isOpen(nowMs) ? 2 : 0) + (provider.costMicros(candidateCount(provider, search.n)) > priceMicros ? 1 : 0);
  return upstreams
    .filter(({ provider }) => accepts(provider.queryLimit, search.query))
    .toSorted((a, b) => penalty(a) - penalty(b));
}

const maxCandidates = 20;

/** Ranking works better with more candidates: request up to twenty, within one page and at the cost of `n`. */
function candidateCount(provider: Provider, n: number): number {
  let count = Math.max(n, Math.min(maxCandidates, provider.resultsPerPage));
  while (count > n && provider.costMicros(count) > provider.costMicros(n)) count -= 1;
  return count;
}

function describe({ provider, circuit, health }: Upstream, nowMs: number): UpstreamReport {
  const until = circuit.openUntilMs();
  const notClosed = circuit.isOpen(nowMs) ? "open" : "trial";
  return {
    name: provider.name,
    documentation: provider.documentation,
    circuit: {
      state: until === undefined ? "closed" : notClosed,
      until: until === undefined ? null : new Date(until).toISOString(),
    },
    ...health.report(nowMs),
  };
}
