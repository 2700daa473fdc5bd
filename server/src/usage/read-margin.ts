import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export interface MarginRow {
  /** A UTC day such as 2030-01-31. */
  day: string;
  provider: string;
  calls: number;
  /** How often each reason was seen. Callers who left in the middle are "aborted", which is no failure of the upstream. */
  failures: Record<string, number>;
  cost: Micros;
  revenue: Micros;
}

export interface Margin {
  rows: MarginRow[];
  /** What the ledger charged for the searches held on these days, as far as usage is counted. */
  charged: Micros;
}

/**
 * What upstreams cost and brought, newest day first, both days included. Counted by the servers, which lose their last
 * five seconds when they die; `charged` is the ledger's word on the revenue. Run as the owner.
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
