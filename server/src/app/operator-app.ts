import { listAccounts } from "../accounts/accounts.ts";
import { fleetRoutes } from "../cells/fleet-routes.ts";
import { readFleet } from "../cells/operator-client.ts";
import type { ServerConfig } from "../config/config.ts";
import { readArchiver } from "../db/archiver.ts";
import type { Pool } from "../db/pool.ts";
import { readLastBackup } from "../db/read-backup.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import type { ForwardingWatch } from "../http/watch-forwarding.ts";
import { type OperatorDependencies, operatorRoutes } from "../operator/operator-routes.ts";
import { type WatchedDatabase, watchRoutes } from "../operator/watch-routes.ts";
import type { Router } from "../search/routing.ts";
import { statusCountsRoute } from "../status/status.ts";
import type { Heartbeats } from "../telemetry/heartbeats.ts";
import {
  readAbandonedCalls,
  readMargin,
  readUpstreamHours,
  readUsageLag,
  readWalletDays,
  readWalletMargin,
} from "../usage/usage.ts";
import { listWallets, readReconciliation, readTotalBalance } from "../wallet/wallet.ts";
import { readWebhookLag } from "../webhooks/webhooks.ts";
import type { Connections } from "./connections.ts";

/** The routes below /operator/. Those that need a database exist only if the operator's database URL is configured. */
export function createOperatorRoutes(dependencies: {
  config: Pick<ServerConfig, "servers" | "fleet" | "publicUrl">;
  connections: Pick<Connections, "operatorPool">;
  router: Router;
  figures: { readServers: Heartbeats["read"] };
  forwarding: ForwardingWatch;
  /** Undefined if no OpenID Connect provider is configured. */
  provider: { isAvailable: () => boolean } | undefined;
}): OperatorRoute[] {
  const { config, connections, router, figures, forwarding, provider } = dependencies;
  const { operatorPool } = connections;
  const watching = watchRoutes({
    reportUpstreams: () => router.report(),
    listUnlistedProxies: () => forwarding.listProxies(),
    readServers: figures.readServers,
    expectedServers: config.servers,
    // A server without TLS in front of it has no customers.
    expectsArchive: config.publicUrl.startsWith("https:"),
    isSignInUnavailable: () => provider?.isAvailable() === false,
    db: operatorPool && watchedDatabase(operatorPool),
  });
  const cells = fleetRoutes(config.fleet === undefined ? [] : readFleet(config.fleet));
  const own = operatorPool
    ? [...operatorRoutes(operatorDependencies(operatorPool)), statusCountsRoute(operatorPool)]
    : [];
  return [...watching, ...cells, ...own];
}

function operatorDependencies(db: Pool): OperatorDependencies {
  return {
    db,
    listWallets: (query) => listWallets(db, query),
    listAccounts: (query) => listAccounts(db, query),
    readReconciliation: () => readReconciliation(db),
    readTotalBalance: () => readTotalBalance(db),
    readMargin: (days) => readMargin(db, days),
    readWalletMargin: (query) => readWalletMargin(db, query),
    readWalletDays: (query) => readWalletDays(db, query),
  };
}

function watchedDatabase(pool: Pool): WatchedDatabase {
  return {
    pool,
    readUpstreamHours: (now) => readUpstreamHours(pool, now),
    readMargin: (days) => readMargin(pool, days),
    readAbandonedCalls: () => readAbandonedCalls(pool),
    readReconciliation: () => readReconciliation(pool),
    readUsageLag: () => readUsageLag(pool),
    readWebhookLag: () => readWebhookLag(pool),
    readArchiver: () => readArchiver(pool),
    readLastBackup: () => readLastBackup(pool),
  };
}
