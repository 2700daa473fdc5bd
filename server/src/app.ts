import type { FastifyInstance } from "fastify";
import { apiRoutes, createManagement, managementRoutes } from "./app/api-routes.ts";
import { compatRoutes } from "./app/compat-app.ts";
import { openConnections, watchRedis } from "./app/connections.ts";
import { createConsoleRoutes, createOperatorView, openOidc, operatorPageRoutes, watchOidc } from "./app/console-app.ts";
import { openCostCaps, openKeys, openLimits } from "./app/limits.ts";
import { createMcpRoutes } from "./app/mcp-app.ts";
import { createOperatorRoutes } from "./app/operator-app.ts";
import { recordNoResponse, recordResponse } from "./app/record-response.ts";
import { reload } from "./app/reload.ts";
import { openFigures, openReports } from "./app/reports.ts";
import { createSearchDependencies, openLedger, openRouter, openRunner, traceSearches } from "./app/search-app.ts";
import { siteRoutes } from "./app/site-routes.ts";
import type { ServerConfig } from "./config/config.ts";
import { describeUnknownOperation, findProblemShape } from "./dialects/dialects.ts";
import { createHttpServer } from "./http/http-server.ts";
import { createOpsServer } from "./http/ops-server.ts";
import type { Route } from "./http/route.ts";
import { createForwardingWatch } from "./http/watch-forwarding.ts";
import type { Guard } from "./keys/keys.ts";
import { createManagementGuard } from "./keys/management-guard.ts";
import { createKeyUseRecorder } from "./keys/record-key-uses.ts";
import { openLenses } from "./lenses/lenses.ts";
import { createCaller } from "./providers/call-provider.ts";
import type { Upstream } from "./providers/provider.ts";
import { createRanking } from "./ranking/ranking.ts";
import { createSearchPayments } from "./search/pay-for-search.ts";
import type { Log } from "./telemetry/log.ts";
import { createMetrics } from "./telemetry/metrics.ts";
import { createDataKeys } from "./wallet/wallet.ts";

export interface App {
  http: FastifyInstance;
  ops: FastifyInstance;
  /** Returns the reason this server must not use the database, or undefined. */
  checkDatabase(): Promise<string | undefined>;
  /** Reloads the ranking rules and the upstreams. If any of them has faults, logs them and keeps the previous version of both. */
  reload(readUpstreams?: () => readonly Upstream[]): void;
  /** From now on every response closes its connection and /readyz fails. */
  startDraining(): void;
  /** From now on new requests are rejected. */
  refuseRequests(): void;
  close(): Promise<void>;
}

/** Wires every module to the others. Does not listen yet. */
export function createApp(config: ServerConfig, log: Log): App {
  const state = { isDraining: false, isRefusing: false };
  const services = openServices(config, log, state);
  const { metrics, connections, limits, secrets, dataKeys, router, lenses, figures, reports } = services;
  const { publicUrl, trustedProxies, operators } = config;
  const { admission } = limits;
  const manageWith = createManagement(config, log, { router, connections, admission, secrets, dataKeys });
  const forwarding = createForwardingWatch(log);
  const provider = watchOidc(config);
  if (provider) metrics.watchDependency("oidc", provider.isAvailable);
  const http = createHttpServer({
    routes: createRoutes(services, manageWith),
    publicUrl,
    trustedProxies,
    findProblemShape,
    describeUnknownPath: describeUnknownOperation,
    log,
    whenStopping: () => state,
    admission: limits.admission,
    onResponse(request, reply) {
      recordResponse(metrics, request, reply);
      forwarding.record(request.raw, request.ips);
    },
    onNoResponse: recordNoResponse,
  });
  const ops = createOpsServer({
    log,
    renderMetrics: metrics.render,
    operators,
    publicUrl,
    secrets,
    pages: operatorPageRoutes(),
    operatorRoutes: [
      ...createOperatorRoutes({ config, connections, router, figures, forwarding, provider }),
      ...createOperatorView(config, connections, (guard) => managementRoutes(manageWith(guard))),
    ],
    whyNotReady: async () => (state.isDraining ? "stopping" : await reports.whyNotReady()),
  });
  return {
    http,
    ops,
    async checkDatabase() {
      const fault = await reports.checkDatabase();
      if (fault === undefined) await services.caps.refresh();
      return fault;
    },
    reload: (readUpstreams = () => config.upstreams) => reload(readUpstreams, { lenses, router, metrics, log }),
    startDraining: () => void (state.isDraining = true),
    refuseRequests: () => void (state.isRefusing = true),
    async close() {
      provider?.close();
      await figures.close();
      await http.close();
      limits.admission.stop();
      await services.close();
      await ops.close();
    },
  };
}

type Services = ReturnType<typeof openServices>;

/** Dependencies of the routes. */
function openServices(config: ServerConfig, log: Log, state: { isDraining: boolean }) {
  const metrics = createMetrics();
  const connections = openConnections(config, log);
  const { ledgerPool, redis } = connections;
  const upstreams = createCaller({ connectMs: 2_000, headersMs: 9_000, bodyMs: 5_000 });
  const keyUses = createKeyUseRecorder(ledgerPool);
  const limits = openLimits(config, redis);
  const keys = openKeys(config, { connections, admission: limits.admission, onUse: keyUses.record });
  const tracing = traceSearches(config);
  const ledger = openLedger(config, { ledgerPool, metrics, tracing });
  const reports = openReports(config, connections, log);
  const { tally, secrets } = reports;
  const caps = openCostCaps(config, { connections, log });
  const router = openRouter({ config, log, caps, metrics, tally, callProvider: upstreams.callProvider });
  const lenses = openLenses(config.lenses);
  const ranking = createRanking(lenses.current);
  const figures = openFigures(config, { redis, ledger, state, clockOffset: reports.clockOffset });
  metrics.watchClock(reports.clockOffset);
  metrics.watchPools(connections.pools);
  const redisWatch = watchRedis(redis);
  if (redisWatch) metrics.watchDependency("redis", redisWatch.isAvailable);
  const payments = createSearchPayments({ ledger, metrics, log });
  const { countUnopenedDataKey: onUnopened } = metrics;
  const dataKeys = createDataKeys({ tenant: connections.tenantPool, secrets, onUnopened });
  const modules = { config, secrets, dataKeys, connections, metrics, keys, limits, router, ranking, tally, payments };
  const search = createSearchDependencies(modules);
  const runner = openRunner(search, { metrics, figures, router, tally, tracing });
  return {
    config,
    log,
    metrics,
    connections,
    limits,
    keys,
    recordUse: keyUses.record,
    reports,
    secrets,
    dataKeys,
    caps,
    router,
    lenses,
    figures,
    search,
    runner,
    async close(): Promise<void> {
      redisWatch?.close();
      caps.close();
      metrics.close();
      await payments.finishReleases();
      await upstreams.close();
      keys.close();
      await keyUses.close();
      await reports.close();
      await connections.close();
      await tracing?.close();
    },
  };
}

function createRoutes(services: Services, manageWith: ReturnType<typeof createManagement>): Route[] {
  const { config, metrics, connections, limits, keys, recordUse, reports, secrets, lenses, search, runner } = services;
  const { admission, acquireSlot } = limits;
  const management = manageWith(createManagementGuard(keys, limits));
  const manage = (guard: Guard): Route[] => managementRoutes(manageWith(guard));
  const api = apiRoutes({ runner, lenses, publicUrl: config.publicUrl, management });
  const oidc = openOidc(config, secrets);
  return [
    ...api,
    ...compatRoutes(runner, search),
    ...siteRoutes(api, config, { ledgerPool: connections.ledgerPool, whyNotReady: reports.whyNotReady }),
    ...createMcpRoutes({ config, connections, keys, oidc, acquireSlot, admission, search, runner, metrics }),
    ...createConsoleRoutes({ config, secrets, connections, acquireSlot, admission, runner, oidc, manage, recordUse }),
  ];
}
