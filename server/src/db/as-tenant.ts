import { inTransaction } from "./in-transaction.ts";
import type { Pool, Queryable } from "./pool.ts";
import { sendFenced } from "./query-fenced.ts";

type Work<Result> = (db: Queryable) => Promise<Result>;

/** Reads as one wallet: row-level security hides the rows of all other wallets, whatever the SQL. */
export function asTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, read), "begin read only");
}

/** Like asTenant, with one snapshot for all statements. */
export function snapshotAsTenant<Result>(pool: Pool, walletId: string, read: Work<Result>): Promise<Result> {
  return inTransaction(pool, withWallet(walletId, read), "begin isolation level repeatable read read only");
}

function withWallet<Result>(walletId: string, work: Work<Result>): Work<Result> {
  return async (db) => {
    // A plan over many partitions exceeds the cost from which PostgreSQL compiles it, which takes seconds for a read of 20 ms.
    await db.query("select set_config('pb.wallet_id', $1, true), set_config('jit', 'off', true)", [walletId]);
    return work(db);
  };
}

/**
 * Calls one function that makes a change, such as "pb.revoke_own_key($2, $3)", in a single statement. Its locks end with the
 * statement. With a separate commit, a server that stalls in between would block every search of the wallet.
 */
export async function callAsTenant<Outcome>(
  pool: Pool,
  walletId: string,
  call: string,
  values: readonly unknown[],
): Promise<Outcome> {
  const expected = `$${values.length + 2}`;
  const { rows } = await sendFenced<{ outcome: Outcome }>(pool, (timeline) => ({
    // The call depends on the row of the materialized CTE, so the settings apply before it runs.
    text: `with own as materialized (
       select set_config('pb.wallet_id', $1, true) as wallet_id,
         set_config('pb.expected_timeline', coalesce(${expected}::text, ''), true)
     )
     select ${call} as outcome from own where own.wallet_id <> ''`,
    values: [walletId, ...values, timeline],
  }));
  const [row] = rows;
  if (!row) throw new Error("the call returned no row, or no wallet id was given");
  return row.outcome;
}
