import type { Queryable } from "./pool.ts";

/** Makes the partitions from today to `days` ahead where they are missing. Says how many it made. */
export async function makePartitions(db: Queryable, days: number): Promise<number> {
  const { rows } = await db.query<{ made: number }>(
    "select pb.make_partitions(today, today + $1::integer) as made from pb.utc_day(clock_timestamp()) as today",
    [days],
  );
  return rows[0]?.made ?? 0;
}

/** How many days from today have their partitions. */
export async function partitionDaysAhead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ days: number }>("select pb.partition_days_ahead() as days");
  return rows[0]?.days ?? 0;
}
