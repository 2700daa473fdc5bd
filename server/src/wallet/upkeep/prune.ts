import type { Pool, Queryable } from "../../db/pool.ts";

// Deletes expired rows. The SQL functions decide which rows have expired.

/** Deletes stored answers and Idempotency-Key claims older than a day. Returns how many. */
export async function deleteExpiredAnswers(db: Queryable, limit: number): Promise<number> {
  const { rows } = await db.query<{ deleted: number }>("select pb.delete_expired_answers($1) as deleted", [limit]);
  return rows[0]?.deleted ?? 0;
}

/** Deletes windows of budgets and runs that ended over an hour ago. Returns how many. */
export async function deleteEndedWindows(db: Queryable, limit: number): Promise<number> {
  const { rows } = await db.query<{ deleted: number }>("select pb.delete_ended_windows($1) as deleted", [limit]);
  return rows[0]?.deleted ?? 0;
}

/** Deletes usage by end user after 90 days. Returns how many rows. */
export async function deleteOldEndUsers(db: Queryable, limit: number): Promise<number> {
  const { rows } = await db.query<{ deleted: number }>("select pb.delete_old_end_users($1) as deleted", [limit]);
  return rows[0]?.deleted ?? 0;
}

/**
 * Deletes test searches of whole days that ended at least `days` ago. They moved no money. Returns how many. A day is kept
 * while its usage may still be counted.
 *
 * Each batch continues in the index on test searches where the previous one ended. Live searches are not read.
 */
export async function deleteOldTestSearches(worker: Pool, days: number, signal: AbortSignal): Promise<number> {
  const { rows } = await worker.query<{ partition: string }>("select pb.prunable_partitions($1) as partition", [days]);
  let deleted = 0;
  for (const { partition } of rows) {
    let walletId = await findNextWallet(worker, partition, firstUuid);
    while (walletId !== null && !signal.aborted) {
      deleted += await deleteTestSearchesOf(worker, { partition, walletId }, signal);
      walletId = await findNextWallet(worker, partition, walletId);
    }
  }
  return deleted;
}

const firstUuid = "00000000-0000-0000-0000-000000000000";
const lastUuid = "ffffffff-ffff-ffff-ffff-ffffffffffff";

async function findNextWallet(worker: Pool, partition: string, after: string): Promise<string | null> {
  const { rows } = await worker.query<{ id: string | null }>("select pb.find_test_wallet($1, $2) as id", [
    partition,
    after,
  ]);
  return rows[0]?.id ?? null;
}

async function deleteTestSearchesOf(
  worker: Pool,
  { partition, walletId }: { partition: string; walletId: string },
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  let before: string | null = lastUuid;
  while (before !== null && !signal.aborted) {
    const { rows }: { rows: { deleted: number; last_id: string | null }[] } = await worker.query(
      "select * from pb.delete_test_searches($1, $2, $3)",
      [partition, walletId, before],
    );
    deleted += rows[0]?.deleted ?? 0;
    before = rows[0]?.last_id ?? null;
  }
  return deleted;
}
