import { type Micros, priceMicros } from "../lib/money.ts";
import type {
  AskOptions,
  Provider,
  QueryLimit,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamSearch,
  UpstreamSuccess,
} from "../providers/provider.ts";
import { type Circuit, createCircuit } from "./circuit.ts";
import { carries } from "./query-limit.ts";
import { createUpstreamHealth, type HealthReport, type UpstreamHealth } from "./upstream-health.ts";

// Which upstream is asked, and who is asked next when it fails. The order is the operator's. Upstreams that would cost
// more than the price, and those that have just failed, move behind the others; nobody is left out for it, so that a
// search is refused only when every upstream that can carry its query has failed.

export interface Router {
  ask: (search: UpstreamSearch, options: AskOptions) => Promise<Routed>;
  /** How long a query may be: one of these must carry it. */
  queryLimits: readonly QueryLimit[];
  noteCharge(provider: string, charge: Micros): void;
  report(): UpstreamReport[];
}

export interface Routed {
  /** Undefined if no upstream can carry the query, or none is configured. */
  answer: UpstreamAnswer | undefined;
  asked: number;
}

export interface UpstreamReport extends HealthReport {
  name: string;
  documentation: string;
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
}

export interface RouterParts {
  providers: readonly Provider[];
  callProvider: (provider: Provider, search: UpstreamSearch, options: AskOptions) => Promise<UpstreamAnswer>;
  /** `isOpen`: after this answer others are asked first for a while. */
  onCall: (answer: UpstreamAnswer, cost: Micros, isOpen: boolean) => void;
}

interface Upstream {
  provider: Provider;
  circuit: Circuit;
  health: UpstreamHealth;
}

export function createRouter({ providers, callProvider, onCall }: RouterParts): Router {
  const upstreams: Upstream[] = providers.map((provider) => ({
    provider,
    circuit: createCircuit(),
    health: createUpstreamHealth(),
  }));

  async function askOne({ provider, circuit, health }: Upstream, search: UpstreamSearch, options: AskOptions) {
    const n = worthAsking(provider, search.n);
    const noteAnswer = circuit.ask(Date.now());
    const endAttempt = options.startAttempt?.(provider.name);
    const answer = await callProvider(provider, { ...search, n }, options);
    endAttempt?.(answer.ok ? "ok" : answer.reason, answer.ok ? undefined : answer.upstreamStatus);
    const costMicros = answer.ok ? provider.costMicros(n) : 0n;
    noteAnswer(answer, Date.now());
    health.noteCall(answer, costMicros, Date.now());
    onCall(answer, costMicros, circuit.isOpen(Date.now()));
    return answer;
  }

  async function ask(search: UpstreamSearch, { deadlineMs, ...options }: AskOptions): Promise<Routed> {
    const startedAt = performance.now();
    const queue = inOrder(upstreams, search, Date.now());
    let failure: UpstreamFailure | undefined;
    let unproven: UpstreamSuccess | undefined;
    let asked = 0;
    for (const upstream of queue) {
      const leftMs = Math.max(0, deadlineMs - (performance.now() - startedAt));
      if (asked > 0 && leftMs === 0) break;
      const isLast = asked === queue.length - 1;
      asked += 1;
      const answer = await askOne(upstream, search, { ...options, deadlineMs: isLast ? leftMs : leftMs / 2 });
      if (!answer.ok && answer.reason === "aborted") return { answer, asked };
      if (answer.ok && isProven(answer, upstream.provider, unproven)) return { answer, asked };
      if (answer.ok) unproven = answer;
      else failure ??= answer;
    }
    // Nobody could contradict an empty 2xx; and of several failures the first upstream's is the one to tell.
    return { answer: unproven ?? failure, asked };
  }

  return {
    ask,
    queryLimits: providers.map((provider) => provider.longestQuery),
    noteCharge: (name, charge) => upstreams.find(({ provider }) => provider.name === name)?.health.noteCharge(charge),
    report: () => upstreams.map((upstream) => describe(upstream, Date.now())),
  };
}

/** An empty answer of an upstream that is known to hide failures counts once a second one has found nothing either. */
function isProven(answer: UpstreamSuccess, provider: Provider, unproven: UpstreamSuccess | undefined): boolean {
  return answer.hits.length > 0 || !provider.emptyNeedsProof || unproven !== undefined;
}

function inOrder(upstreams: readonly Upstream[], search: UpstreamSearch, nowMs: number): Upstream[] {
  const detour = ({ provider, circuit }: Upstream): number =>
    (circuit.isOpen(nowMs) ? 2 : 0) + (provider.costMicros(worthAsking(provider, search.n)) > priceMicros ? 1 : 0);
  return upstreams
    .filter(({ provider }) => carries(provider.longestQuery, search.query))
    .toSorted((a, b) => detour(a) - detour(b));
}

const mostWorthRanking = 20;

/** Ranking chooses best among twenty; we ask for as many as one request brings at the price of `n`. */
function worthAsking(provider: Provider, n: number): number {
  let most = Math.max(n, Math.min(mostWorthRanking, provider.resultsPerPage));
  while (most > n && provider.costMicros(most) > provider.costMicros(n)) most -= 1;
  return most;
}

function describe({ provider, circuit, health }: Upstream, nowMs: number): UpstreamReport {
  const until = circuit.openUntilMs();
  const whileNotClosed = circuit.isOpen(nowMs) ? "open" : "trial";
  return {
    name: provider.name,
    documentation: provider.documentation,
    circuit: {
      state: until === undefined ? "closed" : whileNotClosed,
      until: until === undefined ? null : new Date(until).toISOString(),
    },
    ...health.report(nowMs),
  };
}
