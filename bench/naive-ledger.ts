import type { Pool } from "../server/src/db/pool.ts";
import { captureBatch, holdBatch, releaseBatch } from "../server/src/wallet/statements.ts";
import type { Ledger } from "../server/src/wallet/wallet.ts";

// The ledger as one would write it first: the same functions, called with one item and one transaction each, on as
// many connections as a pool usually has. It takes the place of wallet.ts; see naive-server.ts.

// oxlint-disable-next-line oxc/no-barrel-file -- A stand-in offers all that it stands in for.
export * from "../server/src/wallet/wallet.ts";

/** The app adds two for key look-ups. */
export const ledgerConnections = 16;

export function createLedger(pool: Pool): Ledger {
  return {
    hold: (request) => alone(holdBatch(pool, [request], false)),
    capture: (request) => alone(captureBatch(pool, [request])),
    release: (hold) => alone(releaseBatch(pool, [hold])),
    waiting: () => ({ holds: 0, settlements: 0 }),
  };
}

async function alone<Result>(batch: Promise<Result[]>): Promise<Result> {
  const [result] = await batch;
  if (result === undefined) throw new Error("a batch of one has one result");
  return result;
}
