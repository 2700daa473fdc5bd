import { listAccounts } from "../accounts/accounts.ts";
import type { ServerConfig } from "../config/config.ts";
import type { Pool } from "../db/pool.ts";
import type { OperatorRoute } from "../http/ops-server.ts";
import type { ForwardingWatch } from "../http/watch-forwarding.ts";
import { type OperatorDependencies, operatorRoutes } from "../operator/operator-routes.ts";
import { profileRoutes } from "../operator/profile-routes.ts";
import { type WatchedDatabase, watchRoutes } from "../operator/watch-routes.ts";
import type { Router } from "../search/routing.ts";
import type { ProcessFigures } from "../telemetry/process-figures.ts";
import { readAbandonedCalls, readMargin, readUpstreamHours, readWalletMargin } from "../usage/usage.ts";
import { findEntries, type Ledger, listWallets, readReconciliation } from "../wallet/wallet.ts";

/** The routes below /operator/. Those that need a database exist only if the operator's database URL is configured. */
export function createOperatorRoutes(dependencies: {
  config: Pick<ServerConfig, "hasHeapSnapshots">;
  operatorPool: Pool | undefined;
  router: Router;
  ledger: Ledger;
  figures: ProcessFigures;
  forwarding: ForwardingWatch;
}): OperatorRoute[] {
  const { operatorPool, router, ledger, figures, forwarding } = dependencies;
  const watching = watchRoutes({
    reportUpstreams: () => router.report(),
    listUnlistedProxies: () => forwarding.listProxies(),
    readProcess: figures.read,
    waiting: () => ledger.waiting(),
    db: operatorPool && watchedDatabase(operatorPool),
  });
  const profiling = profileRoutes(dependencies.config);
  return [...watching, ...profiling, ...(operatorPool ? operatorRoutes(operatorDependencies(operatorPool)) : [])];
}

function operatorDependencies(db: Pool): OperatorDependencies {
  return {
    db,
    listWallets: (query) => listWallets(db, query),
    listAccounts: (query) => listAccounts(db, query),
    findEntries: (requestId) => findEntries(db, requestId),
    readReconciliation: () => readReconciliation(db),
    readMargin: (days) => readMargin(db, days),
    readWalletMargin: (query) => readWalletMargin(db, query),
  };
}

function watchedDatabase(pool: Pool): WatchedDatabase {
  return {
    pool,
    readUpstreamHours: (now) => readUpstreamHours(pool, now),
    readMargin: (days) => readMargin(pool, days),
    readAbandonedCalls: () => readAbandonedCalls(pool),
    readReconciliation: () => readReconciliation(pool),
  };
}
