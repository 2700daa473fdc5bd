import { inTransaction } from "./in-transaction.ts";
import type { Pool, Queryable } from "./pool.ts";

type Work<Result> = (db: Queryable) => Promise<Result>;

/** Reads as one wallet: every statement inside sees that wallet's rows and no others, whatever its SQL says. */
export function asTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, read), "begin read only");
}

/** The same, and every statement inside sees the books as they were at the first. */
export function snapshotAsTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, read), "begin isolation level repeatable read read only");
}

/** As one wallet, for what changes something. The functions it may call take the wallet from pb.own_wallet(). */
export function writeAsTenant<Result>(pool: Pool, walletId: string, write: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, write), "begin");
}

function withWallet<Result>(walletId: string, work: Work<Result>): Work<Result> {
  return async (db) => {
    await db.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
    return work(db);
  };
}

/**
 * Calls one function that changes something, such as "pb.revoke_own_key($2, $3)", in a statement of its own. Its locks
 * end with it: between a function and a commit of its own, a server that stands still would stop everyone's searches.
 */
export async function callAsTenant<Outcome>(
  pool: Pool,
  walletId: string,
  call: string,
  values: readonly unknown[],
): Promise<Outcome> {
  // The row is needed before the call is made, so the wallet is named by then.
  const { rows } = await pool.query<{ outcome: Outcome }>(
    `with own as materialized (select set_config('pb.wallet_id', $1, true) as wallet_id)
     select ${call} as outcome from own where own.wallet_id <> ''`,
    [walletId, ...values],
  );
  const [row] = rows;
  if (!row) throw new Error("a call for no wallet");
  return row.outcome;
}
