import type { Pool } from "../server/src/db/pool.ts";
import { captureBatch, holdBatch, releaseBatch } from "../server/src/wallet/statements.ts";
import type { Ledger } from "../server/src/wallet/wallet.ts";

// A ledger without batching: the same functions, called with one item and one transaction each, on a typical number of
// pool connections. It replaces wallet.ts; see naive-server.ts.

// oxlint-disable-next-line oxc/no-barrel-file -- A replacement must export everything the original exports.
export * from "../server/src/wallet/wallet.ts";

/** The app adds two for key look-ups. */
export const ledgerConnections = 16;

export function createLedger(pool: Pool): Ledger {
  return {
    hold: (request) => single(holdBatch(pool, [request], false)),
    capture: (request) => single(captureBatch(pool, [request])),
    release: (hold) => single(releaseBatch(pool, [hold])),
    waiting: () => ({ holds: 0, settlements: 0 }),
  };
}

async function single<Result>(batch: Promise<Result[]>): Promise<Result> {
  const [result] = await batch;
  if (result === undefined) throw new Error("no result for a batch of one");
  return result;
}
