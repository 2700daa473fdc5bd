import { createSecretKey } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import type { Config, serverSettings } from "./config.ts";
import { openConnections } from "./connections.ts";
import { consolePages, roomsOfConsole } from "./console-rooms.ts";
import { LaneFull, NeverSent, OutcomeUnknown } from "./db/lane.ts";
import type { Pool } from "./db/pool.ts";
import { docsRoutes } from "./docs-site/docs-site.ts";
import { enterManagement } from "./doors.ts";
import { readCredential } from "./http/credentials.ts";
import { createHttpServer } from "./http/http-server.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { describeRoutes } from "./http/openapi.ts";
import { createOpsServer } from "./http/ops-server.ts";
import { publicRoutes } from "./http/public-routes.ts";
import type { Route } from "./http/route.ts";
import { createGuesses } from "./keys/guesses.ts";
import { keyRoutes } from "./keys/key-routes.ts";
import { createKeys, type Enter, type KeyMode, type Keys, type Pepper } from "./keys/keys.ts";
import { noteKeyUses } from "./keys/note-uses.ts";
import { lensRoutes } from "./lenses/lens-routes.ts";
import { openLenses } from "./lenses/lenses.ts";
import { noteAnswer, noteNoAnswer } from "./note-answer.ts";
import { roomsOfOperators } from "./operator-rooms.ts";
import { autoTopUpRoutes } from "./payments/auto-top-up-routes.ts";
import { createStripe } from "./payments/stripe.ts";
import { topUpRoutes } from "./payments/top-up-routes.ts";
import { webhookRoute } from "./payments/webhook-route.ts";
import { Problem } from "./problems.ts";
import { createCaller } from "./providers/call-provider.ts";
import { askTestUpstream, parseTestQuery } from "./providers/test-provider.ts";
import { createRanking, type Ranking } from "./ranking/ranking.ts";
import { cleanResults } from "./search/clean-results.ts";
import { createFindHits } from "./search/find-hits.ts";
import { createLimits, type EnterLimits } from "./search/limits.ts";
import { noteCall } from "./search/note-call.ts";
import { createRouter, type Router, type RouterParts } from "./search/routing.ts";
import type { SearchParts } from "./search/search.ts";
import { searchRoutes } from "./search/search-routes.ts";
import type { Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { createProcessFigures, type ProcessFigures } from "./telemetry/process-figures.ts";
import { startTracing, type Tracing } from "./telemetry/tracing.ts";
import { summaryRoutes } from "./usage/summary-routes.ts";
import { createTally, type Tally } from "./usage/usage.ts";
import { usageRoutes } from "./usage/usage-routes.ts";
import { version } from "./version.ts";
import { alertRoutes } from "./wallet/alert-routes.ts";
import { searchListRoutes } from "./wallet/search-list-routes.ts";
import { createLedger, type Ledger, type ReleaseRequest } from "./wallet/wallet.ts";
import { walletRoutes } from "./wallet/wallet-routes.ts";
import { deliveryRoutes } from "./webhooks/delivery-routes.ts";
import { type WebhookRouteParts, webhookRoutes } from "./webhooks/webhook-routes.ts";

export type ServerConfig = Pick<Config, (typeof serverSettings)[number]>;

export interface App {
  http: FastifyInstance;
  ops: FastifyInstance;
  /** Why the database may not be served from, or nothing if it may. */
  checkDatabase(): Promise<string | undefined>;
  /** Reads the ranking rules anew. A broken edit changes nothing, and is told. */
  reloadLenses(): void;
  /** From now on every answer closes its connection and /readyz says no. */
  startDraining(): void;
  /** From now on new requests are refused. */
  refuseRequests(): void;
  close(): Promise<void>;
}

/** The only wiring: every slice is built here and handed to the others as functions. Listens to nothing yet. */
export function createApp(config: ServerConfig, log: Log): App {
  const metrics = createMetrics();
  const state = { isDraining: false, isRefusing: false };
  const connections = openConnections(config, log);
  const { ledgerPool, tenantPool, operatorPool, redis } = connections;
  const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
  const keyUses = noteKeyUses(ledgerPool);
  const guesses = createGuesses({ redis, servers: config.servers });
  const keys = createKeys(ledgerPool, config.keyPeppers, { guesses, onUse: keyUses.note });
  const tracing = traceSearches(config);
  const ledger = openLedger(ledgerPool, metrics, tracing);
  const tally = createTally({ db: ledgerPool, log });
  const enterLimits = createLimits({ redis, servers: config.servers });
  const router = openRouter({ config, log, metrics, tally, callProvider: caller.callProvider });
  const lenses = openLenses(config.lenses);
  const ranking = createRanking(lenses.current);
  const manage = (enter: Enter): Route[] => managementRoutes(config, log, { tenant: tenantPool, enter });
  const figures = createProcessFigures();
  const search = searchParts({ config, log, metrics, keys, ledger, enterLimits, router, ranking, tally, tracing });
  const routes: Route[] = [
    ...counted(searchRoutes(search), figures),
    ...lensRoutes(lenses, config.publicUrl),
    ...manage(enterManagement(keys, enterLimits)),
  ];

  const docs = builtDocs();
  const console = roomsOfConsole({ config, connections, enterLimits, search, noteKeyUse: keyUses.note, manage });
  const http = createHttpServer({
    routes: [...routes, ...descriptions(routes, config, docs.length > 0), ...docs, ...console],
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    log,
    whenStopping: () => state,
    onAnswer: (request, reply) => noteAnswer(metrics, request, reply),
    onNoAnswer: (request, reply, error) => noteNoAnswer(metrics, request, reply, error),
  });
  const ops = createOpsServer({
    log,
    renderMetrics: metrics.render,
    operators: config.operators,
    publicUrl: config.publicUrl,
    secret: createSecretKey(config.secret),
    operatorRoutes: roomsOfOperators({ operatorPool, router, ledger, figures }),
    pages: consolePages("operator.html"),
    whyNotReady: async () => (state.isDraining ? "stopping" : await connections.check("running")),
  });

  return {
    http,
    ops,
    checkDatabase: () => connections.check("starting"),
    reloadLenses: () => noteReload(lenses.reload(), { metrics, log }),
    startDraining: () => void (state.isDraining = true),
    refuseRequests: () => void (state.isRefusing = true),
    async close() {
      figures.close();
      await http.close();
      await caller.close();
      keys.close();
      await keyUses.close();
      await tally.close();
      await connections.close();
      await tracing?.close();
      await ops.close();
    },
  };
}

interface RouterWiring extends Pick<SearchWiring, "config" | "log" | "metrics" | "tally"> {
  callProvider: RouterParts["callProvider"];
}

function openRouter({ config, log, metrics, tally, callProvider }: RouterWiring): Router {
  const router = createRouter({
    providers: config.upstreams,
    callProvider,
    onCall(answer, cost, isOpen) {
      noteCall({ metrics, log }, answer, cost);
      tally.noteCall(answer, cost, isOpen);
    },
  });
  metrics.watchUpstreams(() =>
    router.report().map(({ name, circuit }) => ({ name, isOpen: circuit.state !== "closed" })),
  );
  return router;
}

/** What the owner of a wallet does with a management key. */
function managementRoutes(config: ServerConfig, log: Log, management: { tenant: Pool; enter: Enter }): Route[] {
  const webhooks = { ...management, ...webhookParts(config, log) };
  return [
    ...walletRoutes(management),
    ...keyRoutes({ ...management, pepper: newestPepper(config) }),
    ...searchListRoutes(management),
    ...usageRoutes(management),
    ...summaryRoutes(management),
    ...alertRoutes(management),
    ...webhookRoutes(webhooks),
    ...deliveryRoutes(webhooks),
    ...paymentRoutes(config, management),
  ];
}

/** What describes the other routes, and itself. */
function descriptions(routes: readonly Route[], config: ServerConfig, hasDocs: boolean): Route[] {
  // As bytes: made once, they are not encoded again for everyone who asks.
  let openapi: Buffer | undefined;
  const described = publicRoutes({
    publicUrl: config.publicUrl,
    securityContact: config.securityContact,
    hasDocs,
    readOpenapi() {
      const description = { version, serverUrl: config.publicUrl };
      openapi ??= Buffer.from(JSON.stringify(describeRoutes([...routes, ...described], description)));
      return openapi;
    },
  });
  return described;
}

/** Where `npm run docs:build` has run. A server without the docs is whole all the same. */
function builtDocs(): Route[] {
  const folder = fileURLToPath(new URL("../../docs/.vitepress/dist", import.meta.url));
  return existsSync(folder) ? docsRoutes(folder) : [];
}

/** The same routes, and how many of their requests are under way. */
function counted(routes: readonly Route[], { duringSearch }: ProcessFigures): Route[] {
  return routes.map((route) => ({
    ...route,
    handle: (request, reply) => duringSearch(() => route.handle(request, reply)),
  }));
}

/** Where a wallet's owner adds money: the console, where there is one. */
function topUpPage({ topUpUrl, peopleDatabaseUrl, publicUrl }: ServerConfig): string {
  return (
    topUpUrl ?? `${publicUrl}/${peopleDatabaseUrl === undefined ? "problems/insufficient_balance" : "console/top-up"}`
  );
}

function newestPepper({ keyPeppers: [newest] }: ServerConfig): Pepper {
  if (!newest) throw new Error("there is a pepper, or the configuration would have been refused");
  return newest;
}

function webhookParts(config: ServerConfig, log: Log): Pick<WebhookRouteParts, "secret" | "allowPrivate"> {
  const allowPrivate = config.webhooksAllowPrivate;
  if (allowPrivate)
    log.warn("PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE is on: webhooks may name private addresses. Never in production");
  return { secret: createSecretKey(config.secret), allowPrivate };
}

function paymentRoutes(config: ServerConfig, { tenant, enter }: { tenant: Pool; enter: Enter }): Route[] {
  const { stripeSecretKey: secretKey, stripeWebhookSecrets: webhookSecrets, stripeUrl: url } = config;
  const processor = secretKey === undefined ? undefined : createStripe({ secretKey, webhookSecrets, url });
  const parts = {
    tenant,
    enter,
    processor,
    secret: createSecretKey(config.secret),
    least: config.topUpMin,
    most: config.topUpMax,
    returnUrl: topUpPage(config),
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
  ranking: Ranking;
  tally: Tally;
  tracing: Tracing | undefined;
}

function openLedger(pool: Pool, metrics: Metrics, tracing: Tracing | undefined): Ledger {
  const ledger = createLedger(pool, {
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

/** Off unless somebody collects traces. */
function traceSearches({ otlpEndpoint, tracesSampler, tracesRatio }: ServerConfig): Tracing | undefined {
  if (otlpEndpoint === undefined) return undefined;
  return startTracing({ endpoint: otlpEndpoint, sampler: tracesSampler, ratio: tracesRatio, version });
}

function searchParts(wiring: SearchWiring): SearchParts {
  const { config, log, metrics, keys, ledger, enterLimits, router, ranking, tally, tracing } = wiring;
  const release = (request: ReleaseRequest, mode?: KeyMode): Promise<void> =>
    ledger.release(request).then(
      ({ state }) => {
        if (state === "released" && mode === "live") metrics.countReleased();
      },
      (err: unknown) => log.warn({ err, searchId: request.searchId }, "a hold was left to expire"),
    );
  return {
    authenticate: async ({ rawHeaders, ip }) => keys.authenticate(readCredential(rawHeaders), ip, "search"),
    async enterLimits(key) {
      const place = await enterLimits(key);
      const leaveSearches = metrics.enterSearch();
      return {
        ...place,
        leave() {
          place.leave();
          leaveSearches();
        },
      };
    },
    queryLimits: (mode) => (mode === "test" ? [] : router.queryLimits),
    findHits: createFindHits({
      live: router.ask,
      test: askTestUpstream,
      askedProblem: (query) => {
        const wish = parseTestQuery(query);
        return wish.kind === "problem" ? wish.code : undefined;
      },
    }),
    rank: (hits, input) => ranking.rank({ ...input, results: cleanResults(hits) }),
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
    noteUnheld: tally.noteUnheld,
    startTrace: tracing?.startSearch,
    noteCharge({ charge, provider }) {
      if (charge === 0n) return;
      metrics.countCaptured();
      if (provider === undefined) return;
      router.noteCharge(provider, charge);
      tally.noteCharge(provider, charge);
    },
    secret: createSecretKey(config.secret),
    topUpUrl: topUpPage(config),
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

function noteReload(faults: string[], { metrics, log }: Pick<SearchWiring, "metrics" | "log">): void {
  metrics.setLensFaults(faults.length);
  if (faults.length === 0) log.info("read the lenses anew");
  else log.error({ faults: faults.slice(0, 20) }, "the lenses have faults; the old ones stay");
}
