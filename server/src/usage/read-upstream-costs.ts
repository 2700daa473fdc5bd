import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

/** The cost of each upstream in the current UTC day and month, as far as servers have written it. Runs as the ledger role. */
export async function readUpstreamCosts(
  db: Queryable,
): Promise<{ provider: string; day: string; dayMicros: Micros; monthMicros: Micros }[]> {
  const { rows } = await db.query<{ provider: string; day: string; dayMicros: Micros; monthMicros: Micros }>(
    `select provider, to_char(day, 'YYYY-MM-DD') as day, day_micros as "dayMicros", month_micros as "monthMicros"
     from pb.upstream_costs()`,
  );
  return rows;
}
