import type { Queryable } from "../../db/pool.ts";

// Deletes expired rows. Rows locked by a search are skipped: they are in use, and never waiting for a lock rules out
// deadlocks.

/** Deletes stored answers and Idempotency-Key claims older than a day. Returns how many. */
export async function deleteExpiredAnswers(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `with old as materialized (
       select wallet_id, mode, key_hmac from pb.idempotency
       where claimed_at <= clock_timestamp() - interval '24 hours'
       limit $1 for update skip locked
     )
     delete from pb.idempotency c using old
     where c.wallet_id = old.wallet_id and c.mode = old.mode and c.key_hmac = old.key_hmac`,
    [limit],
  );
  return rowCount ?? 0;
}

/**
 * Deletes runs that expired over an hour ago. By then none of their searches is in flight, because a hold lasts a
 * minute. Returns how many.
 */
export async function deleteExpiredRuns(db: Queryable, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `with over as materialized (
       select id from pb.run_budgets
       where expires_at <= clock_timestamp() - interval '1 hour'
       limit $1 for update skip locked
     )
     delete from pb.run_budgets r using over where r.id = over.id`,
    [limit],
  );
  return rowCount ?? 0;
}
