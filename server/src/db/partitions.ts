import type { Queryable } from "./pool.ts";

/**
 * Creates the missing partitions from two days ago, for servers whose clock is behind, to `days` ahead. Returns how many
 * it created.
 */
export async function makePartitions(db: Queryable, days: number): Promise<number> {
  const { rows } = await db.query<{ created: number }>(
    "select pb.make_partitions(today - 2, today + $1::integer) as created from pb.utc_day(clock_timestamp()) as today",
    [days],
  );
  return rows[0]?.created ?? 0;
}

/** The number of days ahead that have partitions. */
export async function partitionDaysAhead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ days: number }>("select pb.partition_days_ahead() as days");
  return rows[0]?.days ?? 0;
}
