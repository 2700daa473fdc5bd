import { inTransaction } from "./in-transaction.ts";
import type { Pool, Queryable } from "./pool.ts";

/** Reads as one wallet: every statement inside sees that wallet's rows and no others, whatever its SQL says. */
export function asTenant<Result>(
  pool: Pool,
  walletId: string,
  read: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  return inTransaction(
    pool,
    async (db) => {
      await db.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
      return read(db);
    },
    "begin read only",
  );
}
