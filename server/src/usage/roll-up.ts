import type { Queryable } from "../db/pool.ts";

// From single searches to counts by hour and day. What makes it exact is in the migration: rows and watermark move in
// one transaction, behind the sweeper's watermark. Run as the owner, by the worker.

/** Counts every search that is settled and not yet counted, an hour's worth at a time. Says how many. */
export async function rollUpUsage(db: Queryable, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const { rows } = await db.query<{ searches: bigint; is_done: boolean }>("select * from pb.roll_up_usage()");
    total += Number(rows[0]?.searches ?? 0n);
    if (rows[0]?.is_done ?? true) break;
  }
  return total;
}

/** How long ago the last search that is counted may have been held, in seconds. */
export async function readUsageLag(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    "select extract(epoch from clock_timestamp() - pb.usage_as_of())::float8 as seconds",
  );
  return rows[0]?.seconds ?? 0;
}

/**
 * Counts the last two days again, hour by hour, and puts right what differs: as far back as the thorough sweep looks for
 * holds that appeared late. Says how many rows differed.
 */
export async function recountUsage(db: Queryable, signal: AbortSignal): Promise<number> {
  const { rows } = await db.query<{ hour: Date }>(
    `select generate_series(last_hour - interval '2 days', last_hour, interval '1 hour') as hour
     from date_trunc('hour', pb.usage_as_of(), 'utc') as last_hour`,
  );
  let corrected = 0;
  for (const { hour } of rows) {
    if (signal.aborted) break;
    const found = await db.query<{ corrected: number }>("select pb.recount_usage($1) as corrected", [hour]);
    corrected += found.rows[0]?.corrected ?? 0;
  }
  return corrected;
}
