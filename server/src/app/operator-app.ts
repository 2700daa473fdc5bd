import { listAccounts } from "./accounts/accounts.ts";
import type { Pool } from "./db/pool.ts";
import type { OperatorRoute } from "./http/ops-server.ts";
import { type OperatorParts, operatorRoutes } from "./operator/operator-routes.ts";
import { type WatchedDatabase, watchRoutes } from "./operator/watch-routes.ts";
import type { Router } from "./search/routing.ts";
import type { ProcessFigures } from "./telemetry/process-figures.ts";
import { readMargin, readUpstreamHours } from "./usage/usage.ts";
import { findEntries, type Ledger, listWallets, readReconciliation } from "./wallet/wallet.ts";

/** What stands under /operator/: what this server knows, and, where operators have a database, what all of them know. */
export function roomsOfOperators(parts: {
  operatorPool: Pool | undefined;
  router: Router;
  ledger: Ledger;
  figures: ProcessFigures;
}): OperatorRoute[] {
  const { operatorPool, router, ledger, figures } = parts;
  const watching = watchRoutes({
    reportUpstreams: () => router.report(),
    readProcess: figures.read,
    waiting: () => ledger.waiting(),
    db: operatorPool && watchedDatabase(operatorPool),
  });
  return [...watching, ...(operatorPool ? operatorRoutes(operatorParts(operatorPool)) : [])];
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

function watchedDatabase(pool: Pool): WatchedDatabase {
  return {
    pool,
    readUpstreamHours: (now) => readUpstreamHours(pool, now),
    readMargin: (days) => readMargin(pool, days),
    readReconciliation: () => readReconciliation(pool),
  };
}
