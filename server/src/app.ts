import { createSecretKey } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Redis } from "ioredis";
import type { Config, serverSettings } from "./config.ts";
import { LaneFull, NeverSent, OutcomeUnknown } from "./db/lane.ts";
import { findMigrationFault } from "./db/migrate.ts";
import { createPool, type Pool } from "./db/pool.ts";
import { refuseRole } from "./db/roles.ts";
import { readCredential } from "./http/credentials.ts";
import { createHttpServer, problemOf } from "./http/http-server.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { describeRoutes } from "./http/openapi.ts";
import { createOpsServer } from "./http/ops-server.ts";
import { publicRoutes } from "./http/public-routes.ts";
import type { Route } from "./http/route.ts";
import { createKeys, type Enter, type Keys } from "./keys/keys.ts";
import { autoTopUpRoutes } from "./payments/auto-top-up-routes.ts";
import { createStripe } from "./payments/stripe.ts";
import { topUpRoutes } from "./payments/top-up-routes.ts";
import { webhookRoute } from "./payments/webhook-route.ts";
import { Problem } from "./problems.ts";
import { createCaller } from "./providers/call-provider.ts";
import { askTestUpstream, parseTestQuery } from "./providers/test-provider.ts";
import { rank } from "./ranking/rank.ts";
import { cleanResults } from "./search/clean-results.ts";
import { createFindHits } from "./search/find-hits.ts";
import { createLimits, type EnterLimits } from "./search/limits.ts";
import { noteCall } from "./search/note-call.ts";
import { createRouter, type Router } from "./search/routing.ts";
import type { SearchParts } from "./search/search.ts";
import { searchRoutes } from "./search/search-routes.ts";
import type { Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { version } from "./version.ts";
import { createLedger, type Ledger, ledgerConnections, type ReleaseRequest } from "./wallet/wallet.ts";
import { walletRoutes } from "./wallet/wallet-routes.ts";

export type ServerConfig = Pick<Config, (typeof serverSettings)[number]>;

export interface App {
  http: FastifyInstance;
  ops: FastifyInstance;
  /** Why the database may not be served from, or nothing if it may. */
  checkDatabase(): Promise<string | undefined>;
  /** From now on every answer closes its connection and /readyz says no. */
  startDraining(): void;
  /** From now on new requests are refused. */
  refuseRequests(): void;
  close(): Promise<void>;
}

/** Reading the books is cheap for one and dear for all: the tenants share a few connections. */
const managementLimits = { searchesPerSecond: 200, searchesInFlight: 16 };

/** The only wiring: every slice is built here and handed to the others as functions. Listens to nothing yet. */
export function createApp(config: ServerConfig, log: Log): App {
  const metrics = createMetrics();
  const state = { isDraining: false, isRefusing: false };
  const { ledgerPool, tenantPool } = createPools(config, log);
  const redis = config.redisUrl ? connectRedis(config.redisUrl, log) : undefined;
  const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
  const keys = createKeys(ledgerPool, config.keyPeppers);
  const ledger = createLedger(ledgerPool, { onBatch: metrics.countBatch });
  metrics.watchWaiting(() => ledger.waiting());

  const enterLimits = createLimits({ redis, servers: config.servers });
  const router = createRouter({
    providers: config.upstreams,
    callProvider: caller.callProvider,
    onCall: (answer, cost) => noteCall({ metrics, log }, answer, cost),
  });
  metrics.watchUpstreams(() =>
    router.report().map(({ name, circuit }) => ({ name, isOpen: circuit.state !== "closed" })),
  );
  const routes: Route[] = [
    ...searchRoutes(searchParts({ config, log, metrics, keys, ledger, enterLimits, router })),
    ...walletRoutes({ tenant: tenantPool, enter: enterManagement(keys, enterLimits) }),
    ...paymentRoutes(config, tenantPool, enterManagement(keys, enterLimits)),
  ];
  let openapi: string | undefined;
  routes.push(
    ...publicRoutes({
      publicUrl: config.publicUrl,
      securityContact: config.securityContact,
      readOpenapi() {
        openapi ??= JSON.stringify(describeRoutes(routes, { version, serverUrl: config.publicUrl }));
        return openapi;
      },
    }),
  );

  const http = createHttpServer({
    routes,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    log,
    whenStopping: () => state,
    onAnswer: (request, reply) => noteAnswer(metrics, request, reply),
  });
  const ops = createOpsServer({
    log,
    renderMetrics: metrics.render,
    operators: config.operators,
    operatorPages: { upstreams: () => ({ upstreams: router.report() }) },
    whyNotReady: async () => (state.isDraining ? "stopping" : await checkDatabase(ledgerPool, tenantPool, "running")),
  });

  return {
    http,
    ops,
    checkDatabase: () => checkDatabase(ledgerPool, tenantPool, "starting"),
    startDraining: () => void (state.isDraining = true),
    refuseRequests: () => void (state.isRefusing = true),
    async close() {
      await http.close();
      await caller.close();
      await Promise.all([ledgerPool.end(), tenantPool.end()]);
      redis?.disconnect();
      await ops.close();
    },
  };
}

function createPools(config: ServerConfig, log: Log): { ledgerPool: Pool; tenantPool: Pool } {
  const onIdleError = (err: Error): void => log.warn({ err }, "an idle database connection failed");
  const ledgerPool = createPool({
    url: config.ledgerDatabaseUrl,
    name: "pennyblack ledger",
    // Two more than the ledger's lanes, for key look-ups and health.
    connections: ledgerConnections + 2,
    onIdleError,
  });
  const tenantPool = createPool({
    url: config.tenantDatabaseUrl,
    name: "pennyblack tenant",
    connections: 4,
    onIdleError,
  });
  return { ledgerPool, tenantPool };
}

function enterManagement(keys: Keys, enterLimits: EnterLimits): Enter {
  return async function enter(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    const place = await enterLimits({ keyId: principal.keyId, ...managementLimits });
    reply.raw.once("close", () => place.leave());
    reply.headers({ "ratelimit-policy": place.rateLimitPolicy, ratelimit: place.rateLimit });
    return principal;
  };
}

function paymentRoutes(config: ServerConfig, tenant: Pool, enter: Enter): Route[] {
  const { stripeSecretKey: secretKey, stripeWebhookSecrets: webhookSecrets, stripeUrl: url } = config;
  const processor = secretKey === undefined ? undefined : createStripe({ secretKey, webhookSecrets, url });
  const parts = {
    tenant,
    enter,
    processor,
    secret: createSecretKey(config.secret),
    least: config.topUpMin,
    most: config.topUpMax,
    returnUrl: config.topUpUrl ?? config.publicUrl,
  };
  return [
    ...topUpRoutes(parts),
    ...autoTopUpRoutes(parts),
    webhookRoute({ tenant, processor: webhookSecrets.length > 0 ? processor : undefined }),
  ];
}

interface SearchWiring {
  config: ServerConfig;
  log: Log;
  metrics: Metrics;
  keys: Keys;
  ledger: Ledger;
  enterLimits: EnterLimits;
  router: Router;
}

function searchParts({ config, log, metrics, keys, ledger, enterLimits, router }: SearchWiring): SearchParts {
  const release = (request: ReleaseRequest): Promise<void> =>
    ledger.release(request).then(
      () => undefined,
      (err: unknown) => log.warn({ err, searchId: request.searchId }, "a hold was left to expire"),
    );
  return {
    authenticate: async ({ rawHeaders, ip }) => keys.authenticate(readCredential(rawHeaders), ip, "search"),
    enterLimits,
    queryLimits: (mode) => (mode === "test" ? [] : router.queryLimits),
    findHits: createFindHits({
      live: router.ask,
      test: askTestUpstream,
      askedProblem: (query) => {
        const wish = parseTestQuery(query);
        return wish.kind === "problem" ? wish.code : undefined;
      },
    }),
    rank: (hits, { n }) => rank({ results: cleanResults(hits), n }),
    hold: (request) =>
      ledger.hold(request).catch((error: unknown) => {
        // If it was committed after all, nobody will use it: better given back now than in a minute.
        if (error instanceof OutcomeUnknown)
          release({ ...request, outcome: "ledger_unavailable" }).catch(() => undefined);
        return explainHoldFailure(error);
      }),
    async capture(request) {
      const paid = await ledger.capture(request).catch(async (error: unknown) => {
        if (error instanceof OutcomeUnknown) metrics.countLost("unknown");
        else await release({ ...request, outcome: "ledger_unavailable" });
        return explainCaptureFailure(error);
      });
      if (paid.state !== "captured") metrics.countLost("expired");
      return paid;
    },
    release,
    noteCharge({ charge, provider }) {
      if (charge === 0n) return;
      metrics.countCaptured();
      if (provider !== undefined) router.noteCharge(provider, charge);
    },
    secret: createSecretKey(config.secret),
    topUpUrl: config.topUpUrl ?? `${config.publicUrl}/problems/insufficient_balance`,
    topUpApi:
      config.stripeSecretKey === undefined
        ? undefined
        : { url: `${config.publicUrl}/v1/wallet/top-ups`, minimum: config.topUpMin },
  };
}

/** A hold that is unknown or was never sent charges nothing: if it exists, it expires. */
function explainHoldFailure(cause: unknown): never {
  if (cause instanceof LaneFull) throw new Problem("overloaded", { cause });
  throw new Problem("ledger_unavailable", { cause });
}

/** A capture that was never sent charged nothing. One that is unknown must not be answered with a guess. */
function explainCaptureFailure(cause: unknown): never {
  if (cause instanceof OutcomeUnknown) throw new NoAnswer("the capture's outcome is unknown", { cause });
  if (cause instanceof LaneFull) throw new Problem("overloaded", { cause });
  if (cause instanceof NeverSent) throw new Problem("ledger_unavailable", { cause });
  throw cause;
}

/** Losing Redis costs precision, never a search: short timeouts, nothing queued, the limits have a local fallback. */
function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    commandTimeout: 25,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isAway = false;
  redis.on("error", (err: Error) => {
    if (!isAway) log.warn({ err }, "Redis is away; limits are counted by this server alone");
    isAway = true;
  });
  redis.on("ready", () => {
    isAway = false;
  });
  return redis;
}

async function checkDatabase(ledger: Pool, tenant: Pool, when: "starting" | "running"): Promise<string | undefined> {
  const fault = await findMigrationFault(ledger, when);
  if (fault) return fault;
  for (const pool of [ledger, tenant]) {
    const refusal = await refuseRole(pool).catch(() => "it cannot connect");
    if (refusal) return `The server must not connect as this role: ${refusal}.`;
  }
  return undefined;
}

function noteAnswer(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(request);
  const charge = String(reply.getHeader("wallet-charge") ?? "");
  const outcome = problem?.code ?? "ok";
  if (request.routeOptions.url === "/v1/search") {
    metrics.countSearch(outcome, reply.elapsedTime / 1_000);
  }
  const line = {
    status: reply.statusCode,
    outcome,
    route: request.routeOptions.url,
    ms: Math.round(reply.elapsedTime),
    charge,
  };
  if (problem && problem.status >= 500) request.log.warn({ ...line, err: problem.cause }, "failed");
  else request.log.info(line, "answered");
}
