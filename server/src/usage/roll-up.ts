import type { Queryable } from "../db/pool.ts";

// Rolls single searches up into counts per hour and day. pb.roll_up_usage writes the counts and advances its watermark in
// one transaction and stays behind the sweeper's watermark, so every search is counted once. The worker runs it as owner.

/** Counts every settled search not yet counted, one hour per statement. Returns how many. */
export async function rollUpUsage(db: Queryable, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const { rows } = await db.query<{ searches: bigint; is_done: boolean }>("select * from pb.roll_up_usage()");
    total += Number(rows[0]?.searches ?? 0n);
    if (rows[0]?.is_done ?? true) break;
  }
  return total;
}

/** Drops the days of refusals and replays that are no longer listed. Returns how many. */
export async function dropOldRequests(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>("select pb.drop_old_requests() as dropped");
  return rows[0]?.dropped ?? 0;
}

/** Age of the usage watermark in seconds. */
export async function readUsageLag(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    "select extract(epoch from clock_timestamp() - pb.usage_as_of())::float8 as seconds",
  );
  return rows[0]?.seconds ?? 0;
}

/**
 * Recounts the last two days, hour by hour, and corrects differences. The thorough sweep for holds that committed late
 * looks back as far. Returns how many rows were corrected.
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
