import { inTransaction } from "./in-transaction.ts";
import type { Pool, Queryable } from "./pool.ts";

type Work<Result> = (db: Queryable) => Promise<Result>;

/** Reads as one wallet: every statement inside sees that wallet's rows and no others, whatever its SQL says. */
export function asTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, read), "begin read only");
}

/** The same for what changes something. The functions it may call take the wallet from pb.own_wallet(). */
export function writeAsTenant<Result>(pool: Pool, walletId: string, write: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, write), "begin");
}

function withWallet<Result>(walletId: string, work: Work<Result>): Work<Result> {
  return async (db) => {
    await db.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
    return work(db);
  };
}
