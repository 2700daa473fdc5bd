import type { Micros } from "../lib/money.ts";
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
import { candidateCount, planQueries } from "./plan-queries.ts";
import { createUpstreamHealth, type HealthReport, type UpstreamHealth } from "./upstream-health.ts";

// Queries one upstream, or two at once, and the next one if it fails; plan-queries.ts decides which. A search fails only
// when every upstream that accepts its query has failed.

export interface Router {
  query: (search: UpstreamSearch, options: RouteOptions) => Promise<Routed>;
  /** At least one of these must accept a query. */
  queryLimits: readonly QueryLimit[];
  recordCharge(provider: string, charge: Micros): void;
  report(): UpstreamReport[];
}

export interface RouteOptions extends Omit<QueryOptions, "onSent" | "cutOff"> {
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
  /** A second upstream's answer, to be merged with `answer`. Both have results. */
  fusedWith?: UpstreamSuccess | undefined;
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
  /** Whether two upstreams are queried at once if the price covers both. */
  isFusing: boolean;
  callProvider: (provider: Provider, search: UpstreamSearch, options: QueryOptions) => Promise<UpstreamAnswer>;
  /** `isOpen`: whether the upstream's circuit is open after this call. */
  onCall: (answer: UpstreamAnswer, isOpen: boolean) => void;
}

interface Upstream {
  provider: Provider;
  circuit: Circuit;
  health: UpstreamHealth;
}

export function createRouter({ providers, isFusing, callProvider, onCall }: RouterDependencies): Router {
  const upstreams: Upstream[] = providers.map((provider) => ({
    provider,
    circuit: createCircuit(),
    health: createUpstreamHealth(),
  }));

  async function queryOne(
    { provider, circuit, health }: Upstream,
    search: UpstreamSearch,
    { calls, ...options }: RouteOptions & Pick<QueryOptions, "cutOff">,
  ): Promise<UpstreamAnswer> {
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
    const groups = planQueries(upstreams, search, { isFusing, nowMs: Date.now() });
    let failure: UpstreamFailure | undefined;
    let unconfirmed: UpstreamSuccess | undefined;
    let queried = 0;
    for (const [index, group] of groups.entries()) {
      const leftMs = Math.max(0, deadlineMs - (performance.now() - startedAt));
      if (queried > 0 && leftMs === 0) break;
      const isLast = index === groups.length - 1;
      queried += group.length;
      const groupMs = isLast ? leftMs : leftMs / 2;
      const answers = await queryGroup(group, groupMs, (upstream, cutOff) =>
        queryOne(upstream, search, { ...options, deadlineMs: groupMs, cutOff }),
      );
      const failures = answers.filter((each) => !each.ok);
      const aborted = failures.find(({ reason }) => reason === "aborted");
      if (aborted) return { answer: aborted, queried };
      const [answer, fusedWith] = answers.filter(hasHits);
      if (answer) return { answer, fusedWith, queried };
      failure ??= failures[0];
      const [empty, ...alsoEmpty] = answers.filter((each) => each.ok);
      if (!empty) continue;
      if (isConclusive(group, [...alsoEmpty, unconfirmed])) return { answer: empty, queried };
      unconfirmed = empty;
    }
    // No other upstream contradicted the empty result. Of several failures, report the first upstream's.
    return { answer: unconfirmed ?? failure, queried };
  }

  return {
    query,
    queryLimits: providers.map((provider) => provider.queryLimit),
    recordCharge: (name, charge) =>
      upstreams.find(({ provider }) => provider.name === name)?.health.recordCharge(charge),
    report: () => upstreams.map((upstream) => describe(upstream, Date.now())),
  };
}

/** When one of two upstreams has results, the other gets this share of the deadline to return its own. */
const maxLag = 0.1;

/** Returns after all calls have ended, so that the limits of searches in flight bound the calls as well. */
async function queryGroup(
  group: readonly Upstream[],
  deadlineMs: number,
  query: (upstream: Upstream, cutOff: AbortSignal | undefined) => Promise<UpstreamAnswer>,
): Promise<UpstreamAnswer[]> {
  const cutOff = group.length > 1 ? new AbortController() : undefined;
  let timer: NodeJS.Timeout | undefined;
  const queries = group.map(async (upstream) => {
    const answer = await query(upstream, cutOff?.signal);
    if (cutOff && hasHits(answer)) timer ??= setTimeout(() => cutOff.abort(), deadlineMs * maxLag);
    return answer;
  });
  const answers = await Promise.all(queries);
  clearTimeout(timer);
  return answers;
}

function hasHits(answer: UpstreamAnswer): answer is UpstreamSuccess {
  return answer.ok && answer.hits.length > 0;
}

/**
 * Whether an empty answer counts. Some upstreams return one instead of an error, and one of two upstreams may have failed:
 * then it counts once another upstream is empty too.
 */
function isConclusive(group: readonly Upstream[], otherEmpty: readonly (UpstreamSuccess | undefined)[]): boolean {
  const [only, failed] = group;
  const isConfirmed = otherEmpty.some((answer) => answer !== undefined);
  return isConfirmed || (failed === undefined && !only?.provider.emptyIsUnreliable);
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
