import type { Queryable } from "../db/pool.ts";

// What is no longer promised is deleted. Rows that a search holds at this moment are skipped: they are in use, and
// whoever never waits for a lock cannot be part of a deadlock.

/** Deletes stored answers and claims of Idempotency-Keys that are older than a day. Says how many. */
export async function forgetAnswers(db: Queryable, most: number): Promise<number> {
  const { rowCount } = await db.query(
    `with old as materialized (
       select wallet_id, mode, key_hmac from pb.idempotency
       where claimed_at <= clock_timestamp() - interval '24 hours'
       limit $1 for update skip locked
     )
     delete from pb.idempotency c using old
     where c.wallet_id = old.wallet_id and c.mode = old.mode and c.key_hmac = old.key_hmac`,
    [most],
  );
  return rowCount ?? 0;
}

/**
 * Deletes runs whose life is over. An hour later, so that no search that counted on one is still in flight: its hold
 * lives a minute.
 */
export async function forgetRuns(db: Queryable, most: number): Promise<number> {
  const { rowCount } = await db.query(
    `with over as materialized (
       select id from pb.run_budgets
       where expires_at <= clock_timestamp() - interval '1 hour'
       limit $1 for update skip locked
     )
     delete from pb.run_budgets r using over where r.id = over.id`,
    [most],
  );
  return rowCount ?? 0;
}
