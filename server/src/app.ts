import { createSecretKey } from "node:crypto";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { listAccounts } from "./accounts/accounts.ts";
import type { Config, serverSettings } from "./config.ts";
import { openConnections } from "./connections.ts";
import { LaneFull, NeverSent, OutcomeUnknown } from "./db/lane.ts";
import type { Pool } from "./db/pool.ts";
import { docsRoutes } from "./docs-site/docs-site.ts";
import { readCredential } from "./http/credentials.ts";
import { createHttpServer, problemOf } from "./http/http-server.ts";
import { NoAnswer } from "./http/no-answer.ts";
import { describeRoutes } from "./http/openapi.ts";
import { createOpsServer } from "./http/ops-server.ts";
import { publicRoutes } from "./http/public-routes.ts";
import type { Route } from "./http/route.ts";
import { createGuesses } from "./keys/guesses.ts";
import { keyRoutes } from "./keys/key-routes.ts";
import { createKeys, type Enter, type Keys, type Pepper } from "./keys/keys.ts";
import { noteKeyUses } from "./keys/note-uses.ts";
import { lensRoutes } from "./lenses/lens-routes.ts";
import { openLenses } from "./lenses/lenses.ts";
import { type OperatorParts, operatorRoutes } from "./operator/operator-routes.ts";
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
import { createRouter, type Router } from "./search/routing.ts";
import type { SearchParts } from "./search/search.ts";
import { searchRoutes } from "./search/search-routes.ts";
import type { Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { createTally, readMargin, type Tally } from "./usage/usage.ts";
import { usageRoutes } from "./usage/usage-routes.ts";
import { version } from "./version.ts";
import { alertRoutes } from "./wallet/alert-routes.ts";
import {
  createLedger,
  findEntries,
  type Ledger,
  listWallets,
  type ReleaseRequest,
  readReconciliation,
} from "./wallet/wallet.ts";
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

/** Reading the books is cheap for one and dear for all: the tenants share a few connections. */
const managementLimits = { searchesPerSecond: 200, searchesInFlight: 16 };

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
  const ledger = createLedger(ledgerPool, { onBatch: metrics.countBatch });
  metrics.watchWaiting(() => ledger.waiting());

  const tally = createTally({ db: ledgerPool, log });
  const enterLimits = createLimits({ redis, servers: config.servers });
  const router = createRouter({
    providers: config.upstreams,
    callProvider: caller.callProvider,
    onCall(answer, cost) {
      noteCall({ metrics, log }, answer, cost);
      tally.noteCall(answer, cost);
    },
  });
  metrics.watchUpstreams(() =>
    router.report().map(({ name, circuit }) => ({ name, isOpen: circuit.state !== "closed" })),
  );
  const lenses = openLenses(config.lenses);
  const ranking = createRanking(lenses.current);
  const management = { tenant: tenantPool, enter: enterManagement(keys, enterLimits) };
  const routes: Route[] = [
    ...searchRoutes(searchParts({ config, log, metrics, keys, ledger, enterLimits, router, ranking, tally })),
    ...lensRoutes(lenses, config.publicUrl),
    ...managementRoutes(config, log, management),
  ];

  const docs = builtDocs();
  const http = createHttpServer({
    routes: [...routes, ...descriptions(routes, config, docs.length > 0), ...docs],
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
    publicUrl: config.publicUrl,
    operatorRoutes: [
      { method: "GET", path: "upstreams", handle: () => ({ upstreams: router.report() }) },
      ...(operatorPool ? operatorRoutes(operatorParts(operatorPool)) : []),
    ],
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
      await http.close();
      await caller.close();
      await keyUses.close();
      await tally.close();
      await connections.close();
      await ops.close();
    },
  };
}

/** What the owner of a wallet does with a management key. */
function managementRoutes(config: ServerConfig, log: Log, management: { tenant: Pool; enter: Enter }): Route[] {
  const webhooks = { ...management, ...webhookParts(config, log) };
  return [
    ...walletRoutes(management),
    ...keyRoutes({ ...management, pepper: newestPepper(config) }),
    ...usageRoutes(management),
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

function operatorParts(db: Pool): OperatorParts {
  return {
    db,
    listWallets: (wanted) => listWallets(db, wanted),
    listAccounts: (wanted) => listAccounts(db, wanted),
    findEntries: (requestId) => findEntries(db, requestId),
    readReconciliation: () => readReconciliation(db),
    readMargin: (days) => readMargin(db, days),
  };
}

function newestPepper({ keyPeppers: [newest] }: ServerConfig): Pepper {
  if (!newest) throw new Error("there is a pepper, or the configuration would have been refused");
  return newest;
}

function enterManagement(keys: Keys, enterLimits: EnterLimits): Enter {
  return async function enter(request, reply, scope) {
    const principal = await keys.authenticate(readCredential(request.raw.rawHeaders), request.ip, scope);
    // Counted apart, so that a key that searches as fast as it may can still ask what is left of its budget; and for
    // the whole wallet, which may have a thousand keys.
    const place = await enterLimits({ keyId: `manage ${principal.walletId}`, ...managementLimits });
    // Whoever has gone by now closes nothing any more.
    if (reply.raw.destroyed) place.leave();
    else reply.raw.once("close", () => place.leave());
    reply.headers({ "ratelimit-policy": place.rateLimitPolicy, ratelimit: place.rateLimit });
    return principal;
  };
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
  ranking: Ranking;
  tally: Tally;
}

function searchParts(wiring: SearchWiring): SearchParts {
  const { config, log, metrics, keys, ledger, enterLimits, router, ranking, tally } = wiring;
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
    noteCharge({ charge, provider }) {
      if (charge === 0n) return;
      metrics.countCaptured();
      if (provider === undefined) return;
      router.noteCharge(provider, charge);
      tally.noteCharge(provider, charge);
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

function noteReload(faults: string[], { metrics, log }: Pick<SearchWiring, "metrics" | "log">): void {
  metrics.setLensFaults(faults.length);
  if (faults.length === 0) log.info("read the lenses anew");
  else log.error({ faults: faults.slice(0, 20) }, "the lenses have faults; the old ones stay");
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
