import type { ServerConfig } from "../config/config.ts";
import type { Pool } from "../db/pool.ts";
import { readCredential } from "../http/input/credentials.ts";
import type { Keys, Principal } from "../keys/keys.ts";
import type { Secrets } from "../lib/secrets.ts";
import { allowsHost } from "../lib/source-policy.ts";
import { version } from "../lib/version.ts";
import type { Admission } from "../limits/admission.ts";
import type { CostCaps } from "../limits/cost-caps.ts";
import type { AcquireSlot } from "../limits/request-limits.ts";
import { createTestEndUserLimit } from "../limits/test-end-users.ts";
import type { UnpaidLimit } from "../limits/unpaid-limit.ts";
import { Problem } from "../problems/problems.ts";
import { parseTestQuery, queryTestUpstream, testQueryWords } from "../providers/test-provider.ts";
import type { Ranking } from "../ranking/ranking.ts";
import { cleanResults } from "../search/clean-results.ts";
import { createFindHits } from "../search/find-hits.ts";
import { makeClaim } from "../search/idempotency.ts";
import { createSearchLimits } from "../search/limit-searches.ts";
import type { SearchPayments } from "../search/pay-for-search.ts";
import { recordCall } from "../search/record-call.ts";
import { createRouter, type Router, type RouterDependencies } from "../search/routing.ts";
import { createSearchRunner, type SearchRecorders, type SearchRunner } from "../search/run-search.ts";
import type { SearchDependencies } from "../search/search.ts";
import { createStartCalls } from "../search/search-calls.ts";
import { readWait } from "../search/search-headers.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { startTracing, type Tracing } from "../telemetry/tracing.ts";
import type { Tally } from "../usage/usage.ts";
import { createLedger, type DataKeys, type Ledger, toStoredEndUser } from "../wallet/wallet.ts";
import { topUpPage } from "./api-routes.ts";
import type { Connections } from "./connections.ts";

interface SearchAppDependencies {
  config: ServerConfig;
  secrets: Secrets;
  dataKeys: DataKeys;
  connections: Pick<Connections, "redis">;
  metrics: Metrics;
  keys: Keys;
  limits: { admission: Pick<Admission, "enter">; acquireSlot: AcquireSlot; unpaidLimit: UnpaidLimit };
  router: Router;
  ranking: Ranking;
  tally: Tally;
  payments: SearchPayments;
}

export function createSearchDependencies(dependencies: SearchAppDependencies): SearchDependencies {
  const { config, secrets, dataKeys, connections, metrics, keys, limits, router, ranking, tally, payments } =
    dependencies;
  const { admission, acquireSlot, unpaidLimit } = limits;
  const { redis } = connections;
  const limitTestEndUsers = createTestEndUserLimit({ redis, secrets, max: config.testEndUsersPerDay });
  return {
    async authenticate({ rawHeaders, headers, ip, facts }) {
      const setCaller = (found: Principal): void => void (facts.caller = found);
      const found = keys.authenticate(readCredential(rawHeaders), ip, "search", setCaller);
      return withinWait(found, readWait(headers.prefer));
    },
    acquireSlot: createSearchLimits({
      admission,
      acquireSlot,
      limits: config,
      trackInFlight: metrics.trackInFlight,
    }),
    queryLimits: (mode, sources) => (mode === "test" ? [] : router.queryLimits(sources)),
    maxOnlyDomains: router.maxOnlyDomains,
    async toStoredEndUser(caller, id) {
      const stored = await toStoredEndUser(dataKeys, caller, id);
      if (caller.mode === "test") await limitTestEndUsers(caller.walletId, stored);
      return stored;
    },
    startCalls: createStartCalls({ unpaidLimit, tally, metrics }),
    findHits: createFindHits({
      live: router.query,
      test: queryTestUpstream,
      testQueryWords,
      requestedProblem: (query) => {
        const parsed = parseTestQuery(query);
        return parsed.kind === "problem" ? parsed.code : undefined;
      },
    }),
    rank(hits, { sources, ...input }) {
      const results = cleanResults(hits);
      const allowed = sources ? results.filter(({ host }) => allowsHost(sources, host)) : results;
      const ranked = ranking.rank({ ...input, results: allowed });
      return {
        ...ranked,
        results: ranked.results.map((result) => result.toPlain()),
        ...(sources && { filtered: results.length - allowed.length }),
      };
    },
    ...payments,
    makeClaim: async (caller, key, input) => makeClaim(await dataKeys.open(caller), caller.mode, key, input),
    topUpUrl: topUpPage(config),
    publicUrl: config.publicUrl,
    topUpApi:
      config.stripeSecretKey === undefined
        ? undefined
        : { url: `${config.publicUrl}/v1/wallet/top-ups`, minimum: config.topUpMin },
  };
}

interface RunnerDependencies extends Pick<SearchAppDependencies, "metrics" | "router" | "tally"> {
  figures: SearchRecorders["figures"];
  tracing: Tracing | undefined;
}

export function openRunner(search: SearchDependencies, dependencies: RunnerDependencies): SearchRunner {
  const { metrics, figures, tally, tracing } = dependencies;
  return createSearchRunner(search, {
    metrics,
    figures,
    recordCharge: createChargeRecorder(dependencies),
    recordUnheld: tally.recordUnheld,
    startTrace: tracing?.startSearch,
  });
}

function createChargeRecorder({ metrics, router, tally }: RunnerDependencies): SearchRecorders["recordCharge"] {
  return ({ charge, provider }) => {
    if (charge === 0n) return;
    metrics.countCaptured();
    if (provider === undefined) return;
    router.recordCharge(provider, charge);
    tally.recordCharge(provider, charge);
  };
}

/** A look-up waits for an unavailable database, and is shared by callers with different deadlines. */
async function withinWait<Result>(work: Promise<Result>, waitSeconds: number | undefined): Promise<Result> {
  if (waitSeconds === undefined) return work;
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const detail = `The ledger did not respond within the deadline you set with \`Prefer: wait=${waitSeconds}\`. You were not charged. Retry after the number of seconds in \`Retry-After\`.`;
  const timer = setTimeout(() => reject(new Problem("ledger_unavailable", { detail })), waitSeconds * 1_000);
  return Promise.race([work, expired]).finally(() => clearTimeout(timer));
}

interface RouterAppDependencies extends Pick<SearchAppDependencies, "config" | "metrics" | "tally"> {
  log: Log;
  caps: CostCaps;
  callProvider: RouterDependencies["callProvider"];
}

export function openRouter({ config, log, caps, metrics, tally, callProvider }: RouterAppDependencies): Router {
  const router = createRouter({
    upstreams: config.upstreams,
    caps,
    callProvider,
    onCall(answer, isOpen) {
      recordCall({ metrics, log }, answer);
      tally.recordCall(answer, isOpen);
    },
  });
  metrics.watchUpstreams(() =>
    router
      .report()
      .map(({ name, circuit, cap }) => ({ name, isOpen: circuit.state !== "closed", capRatio: cap?.ratio })),
  );
  return router;
}

export function openLedger(
  { databaseOutageMs: holdOutageMs }: ServerConfig,
  { ledgerPool, metrics, tracing }: { ledgerPool: Pool; metrics: Metrics; tracing: Tracing | undefined },
): Ledger {
  const ledger = createLedger(ledgerPool, {
    holdOutageMs,
    onBatch(kind, searches) {
      metrics.countBatch(kind, searches.length);
      return tracing?.startBatch(
        kind,
        searches.map(({ searchId }) => searchId),
      );
    },
    onResult: metrics.timeLedger,
  });
  metrics.watchWaiting(() => ledger.waiting());
  return ledger;
}

/** Undefined unless an OTLP endpoint is configured. */
export function traceSearches({ otlpEndpoint, tracesSampler, tracesRatio }: ServerConfig): Tracing | undefined {
  if (otlpEndpoint === undefined) return undefined;
  return startTracing({ endpoint: otlpEndpoint, sampler: tracesSampler, ratio: tracesRatio, version });
}
