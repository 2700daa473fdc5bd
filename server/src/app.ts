import { randomUUIDv7 } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { apiRoutes, createManagement, managementRoutes } from "./app/api-routes.ts";
import { compatRoutes } from "./app/compat-app.ts";
import { type Connections, openConnections } from "./app/connections.ts";
import { type ConsoleAppDependencies, consolePageRoutes, createConsoleRoutes, openOidc } from "./app/console-app.ts";
import { createMcpRoutes, type McpAppDependencies } from "./app/mcp-app.ts";
import { createOperatorRoutes } from "./app/operator-app.ts";
import { recordNoResponse, recordResponse } from "./app/record-response.ts";
import { createSearchDependencies, openRouter } from "./app/search-app.ts";
import { siteRoutes } from "./app/site-routes.ts";
import type { ServerConfig } from "./config/config.ts";
import type { Pool } from "./db/pool.ts";
import { startSecretReports } from "./db/report-secrets.ts";
import { databaseNameOf, startTimelineSharing } from "./db/share-timeline.ts";
import { findProblemShape } from "./dialects/dialects.ts";
import { type Admission, defaultAdmission, startAdmission } from "./http/admission.ts";
import { createHttpServer } from "./http/http-server.ts";
import { createOpsServer } from "./http/ops-server.ts";
import { createReadiness } from "./http/readiness.ts";
import { createRequestLimits } from "./http/request-limits.ts";
import type { Route } from "./http/route.ts";
import { createForwardingWatch } from "./http/watch-forwarding.ts";
import { createKeyGuessLimiter } from "./keys/key-guessing.ts";
import { createKeys, type Guard, type Keys } from "./keys/keys.ts";
import { createManagementGuard } from "./keys/management-guard.ts";
import { createKeyUseRecorder } from "./keys/record-key-uses.ts";
import { openLenses } from "./lenses/lenses.ts";
import { networkOf } from "./lib/network-of.ts";
import { createSecrets, type Secrets } from "./lib/secrets.ts";
import { version } from "./lib/version.ts";
import { createCaller } from "./providers/call-provider.ts";
import { createRanking } from "./ranking/ranking.ts";
import { createUnpaidLimit } from "./search/unpaid-limit.ts";
import { startHeartbeats } from "./telemetry/heartbeats.ts";
import type { Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { createProcessFigures, type ProcessFigures } from "./telemetry/process-figures.ts";
import { startTracing, type Tracing } from "./telemetry/tracing.ts";
import { createTally } from "./usage/usage.ts";
import { createLedger, type Ledger } from "./wallet/wallet.ts";

export interface App {
  http: FastifyInstance;
  ops: FastifyInstance;
  /** Why this server must not use the database, or undefined if it may. */
  checkDatabase(): Promise<string | undefined>;
  /** Reloads the ranking rules. If they have faults, logs them and keeps the previous version. */
  reloadLenses(): void;
  /** From now on every response closes its connection and /readyz fails. */
  startDraining(): void;
  /** From now on new requests are rejected. */
  refuseRequests(): void;
  close(): Promise<void>;
}

/** Wires every module to the others. Does not listen yet. */
export function createApp(config: ServerConfig, log: Log): App {
  const metrics = createMetrics();
  const state = { isDraining: false, isRefusing: false };
  const connections = openConnections(config, log);
  const { ledgerPool, operatorPool, redis } = connections;
  const caller = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
  const keyUses = createKeyUseRecorder(ledgerPool);
  const limits = openLimits(config, redis);
  const keys = openKeys(config, { ...limits, connections, onUse: keyUses.record });
  const tracing = traceSearches(config);
  const ledger = openLedger(ledgerPool, metrics, tracing);
  const { tally, secrets, ...reports } = openReports(config, connections, log);
  const router = openRouter({ config, log, metrics, tally, callProvider: caller.callProvider });
  const lenses = openLenses(config.lenses);
  const ranking = createRanking(lenses.current);
  const figures = openFigures(config, { redis, ledger, state });
  const services = { config, secrets, log, metrics, keys, ledger, ...limits, router, ranking, tally, tracing };
  const shared = { ...services, connections };
  const search = createSearchDependencies(shared);
  const createManagementFor = createManagement(config, log, { ...limits, connections, secrets });
  const management = createManagementFor(createManagementGuard(keys, limits));
  const api = countSearches(apiRoutes({ search, lenses, publicUrl: config.publicUrl, management }), figures);
  const manage = (guard: Guard): Route[] => managementRoutes(createManagementFor(guard));
  const others = otherRoutes({ ...shared, search, figures, recordKeyUse: keyUses.record, manage });
  const forwarding = createForwardingWatch(log);
  const http = createHttpServer({
    routes: [...api, ...compatRoutes(search, figures), ...siteRoutes(api, config, reports.whyNotReady), ...others],
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    findProblemShape,
    log,
    whenStopping: () => state,
    admission: limits.admission,
    onResponse(request, reply) {
      recordResponse({ metrics, figures }, request, reply);
      forwarding.record(request.raw, request.ips);
    },
    onNoResponse: (request, reply, error) => recordNoResponse({ metrics, figures }, request, reply, error),
  });
  const ops = openOps(services, {
    operatorRoutes: createOperatorRoutes({ config, operatorPool, router, figures, forwarding }),
    whyNotReady: async () => (state.isDraining ? "stopping" : await reports.whyNotReady()),
  });

  return {
    http,
    ops,
    checkDatabase: reports.checkDatabase,
    reloadLenses: () => recordReload(lenses.reload(), { metrics, log }),
    startDraining: () => void (state.isDraining = true),
    refuseRequests: () => void (state.isRefusing = true),
    async close() {
      await figures.close();
      await http.close();
      limits.admission.stop();
      await search.finishReleases();
      await caller.close();
      keys.close();
      await keyUses.close();
      await reports.close();
      await connections.close();
      await tracing?.close();
      await ops.close();
    },
  };
}

/** The internal listener. */
function openOps(
  { config, log, metrics, secrets }: { config: ServerConfig; log: Log; metrics: Metrics; secrets: Secrets },
  options: Pick<Parameters<typeof createOpsServer>[0], "operatorRoutes" | "whyNotReady">,
): FastifyInstance {
  const { operators, publicUrl } = config;
  const pages = consolePageRoutes("operator.html");
  return createOpsServer({ log, renderMetrics: metrics.render, operators, publicUrl, secrets, pages, ...options });
}

/** Routes that openapi.json does not describe: MCP, whose clients discover its tools, and the console. People sign in to both. */
function otherRoutes(services: Omit<ConsoleAppDependencies & McpAppDependencies, "oidc">): Route[] {
  const dependencies = { ...services, oidc: openOidc(services.config, services.secrets) };
  return [...createMcpRoutes(dependencies), ...createConsoleRoutes(dependencies)];
}

/** Both reports carry the same id, by which pb.use_secret recognizes servers that count usage and report no secrets. */
function openReports(config: ServerConfig, connections: Connections, log: Log) {
  const processId = randomUUIDv7();
  const db = connections.ledgerPool;
  const tally = createTally({ db, log, writer: processId });
  const secrets = createSecrets(config.secrets);
  const secretReports = startSecretReports({ db, secrets, processId });
  const { fence, redis } = connections;
  const timelines = startTimelineSharing({ fence, db, redis, secrets, databaseUrl: config.ledgerDatabaseUrl });
  return {
    tally,
    secrets,
    checkDatabase: async (): Promise<string | undefined> =>
      (await connections.check("starting")) ?? (await timelines.start()) ?? (await secretReports.report()),
    whyNotReady: createReadiness(async () => (await connections.check("running")) ?? secretReports.lastFault()),
    async close(): Promise<void> {
      await timelines.close();
      await tally.close();
      await secretReports.close();
    },
  };
}

/** Slots of this server, limits of keys and wallets across servers, and the limit of unpaid upstream calls. */
function openLimits({ maxInFlight: max, walletShare, servers }: ServerConfig, redis: Connections["redis"]) {
  return {
    admission: startAdmission({ ...defaultAdmission, max, walletShare }),
    acquireSlot: createRequestLimits({ redis, servers }),
    unpaidLimit: createUnpaidLimit({ redis, servers }),
  };
}

interface KeyAppDependencies {
  connections: Pick<Connections, "ledgerPool" | "redis">;
  admission: Pick<Admission, "enter">;
  onUse: (keyId: string) => void;
}

function openKeys({ servers, keyPeppers }: ServerConfig, { connections, admission, onUse }: KeyAppDependencies): Keys {
  const { ledgerPool, redis } = connections;
  return createKeys(ledgerPool, keyPeppers, {
    guessLimiter: createKeyGuessLimiter({ redis, servers }),
    onUse,
    enterLookUp: (address) => admission.enter("lookUps", networkOf(address)),
  });
}

/** The load of this server, and of all servers through their heartbeats. */
function openFigures(
  { ledgerDatabaseUrl }: ServerConfig,
  sources: { redis: Connections["redis"]; ledger: Pick<Ledger, "waiting">; state: { isDraining: boolean } },
) {
  const { redis, ledger, state } = sources;
  const { duringSearch, recordSearch, read, close } = createProcessFigures();
  const heartbeats = startHeartbeats({
    redis,
    database: databaseNameOf(ledgerDatabaseUrl),
    readFigures: () => {
      const { holds, settlements } = ledger.waiting();
      return { ...read(), ledger_waiting: holds + settlements, is_stopping: state.isDraining };
    },
  });
  return {
    duringSearch,
    recordSearch,
    readServers: () => heartbeats.read(),
    async close(): Promise<void> {
      await heartbeats.close();
      close();
    },
  };
}

/** Adds searches to the number of searches in flight that operators see. */
function countSearches(routes: readonly Route[], { duringSearch }: Pick<ProcessFigures, "duringSearch">): Route[] {
  return routes.map((route) =>
    route.path === "/v1/search"
      ? { ...route, handle: (request, reply) => duringSearch(() => route.handle(request, reply)) }
      : route,
  );
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

/** Undefined unless an OTLP endpoint is configured. */
function traceSearches({ otlpEndpoint, tracesSampler, tracesRatio }: ServerConfig): Tracing | undefined {
  if (otlpEndpoint === undefined) return undefined;
  return startTracing({ endpoint: otlpEndpoint, sampler: tracesSampler, ratio: tracesRatio, version });
}

function recordReload(faults: string[], { metrics, log }: { metrics: Metrics; log: Log }): void {
  metrics.setLensFaults(faults.length);
  if (faults.length === 0) log.info("lenses reloaded");
  else log.error({ faults: faults.slice(0, 20) }, "lens reload failed, keeping previous version");
}
