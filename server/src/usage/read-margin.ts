import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export interface MarginRow {
  /** A UTC day such as 2030-01-31. */
  day: string;
  provider: string;
  calls: number;
  /** Count per reason. "aborted" means the caller disconnected, which is not a failure of the upstream. */
  failures: Record<string, number>;
  cost: Micros;
  revenue: Micros;
}

export interface Margin {
  rows: MarginRow[];
  /** Charges in the ledger for searches of these days, as far as usage is rolled up. */
  charged: Micros;
}

/**
 * Cost and revenue per upstream and day, newest first, both days included. Servers count them and lose up to five
 * seconds when they crash; `charged` is the exact revenue from the ledger. Runs as the owner or an operator.
 */
export async function readMargin(db: Queryable, { from, to }: { from: string; to: string }): Promise<Margin> {
  const { rows } = await db.query<MarginRow>(
    `select to_char(day, 'YYYY-MM-DD') as day, provider, sum(calls)::float8 as calls,
       coalesce(json_object_agg(outcome, calls) filter (where outcome <> 'ok'), '{}') as failures,
       sum(cost_micros)::bigint as cost, sum(revenue_micros)::bigint as revenue
     from pb.upstream_days u where u.day between $1 and $2
     group by u.day, provider order by u.day desc, provider`,
    [from, to],
  );
  const total = await db.query<{ charged: Micros }>(
    `select coalesce(sum(charged_micros), 0)::bigint as charged from pb.usage_days where day between $1 and $2`,
    [from, to],
  );
  return { rows, charged: total.rows[0]?.charged ?? 0n };
}
