import type { Pool, Queryable } from "../../db/pool.ts";

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

/**
 * Deletes test searches of whole days that ended at least `days` ago. They moved no money. Returns how many. A day is kept
 * while its usage may still be counted.
 *
 * Each batch continues in the index on test searches where the previous one ended: starting over would read the entries of
 * the rows deleted so far, which stay in the index until a vacuum. Live searches are not read.
 */
export async function deleteOldTestSearches(owner: Pool, days: number, signal: AbortSignal): Promise<number> {
  let deleted = 0;
  for (const partition of await listOldPartitions(owner, days)) {
    let walletId = await findNextWallet(owner, partition, firstUuid);
    while (walletId !== undefined && !signal.aborted) {
      deleted += await deleteTestSearchesOf(owner, { partition, walletId }, signal);
      walletId = await findNextWallet(owner, partition, walletId);
    }
  }
  return deleted;
}

const firstUuid = "00000000-0000-0000-0000-000000000000";
const lastUuid = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** An id can be a day off the time of its hold, and the last two days of usage are recounted. */
async function listOldPartitions(owner: Pool, days: number): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'pb.searches'::regclass and not i.inhdetachpending
       and c.relname < 'searches_' || to_char(
         least(clock_timestamp() - $1::integer * interval '1 day', pb.usage_as_of() - interval '3 days') at time zone 'utc',
         'YYYYMMDD')
     order by c.relname`,
    [days],
  );
  return rows.map(({ name }) => name);
}

async function findNextWallet(owner: Pool, partition: string, after: string): Promise<string | undefined> {
  const { rows } = await owner.query<{ wallet_id: string }>(
    `select wallet_id from pb.${partition} where mode = 'test' and wallet_id > $1 order by wallet_id limit 1`,
    [after],
  );
  return rows[0]?.wallet_id;
}

async function deleteTestSearchesOf(
  owner: Pool,
  { partition, walletId }: { partition: string; walletId: string },
  signal: AbortSignal,
): Promise<number> {
  let deleted = 0;
  let before: string | null = lastUuid;
  while (before !== null && !signal.aborted) {
    const { rows }: { rows: { deleted: bigint; last_id: string | null }[] } = await owner.query(
      `with old as materialized (
         select id from pb.${partition} where mode = 'test' and wallet_id = $1 and id < $2 order by id desc limit 1000
       ), gone as (
         delete from pb.${partition} s using old where s.id = old.id and s.state <> 'pending' returning s.id
       )
       select (select count(*) from gone) as deleted, (select id from old order by id limit 1) as last_id`,
      [walletId, before],
    );
    deleted += Number(rows[0]?.deleted ?? 0n);
    before = rows[0]?.last_id ?? null;
  }
  return deleted;
}
