import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export interface MarginRow {
  /** A UTC day such as 2030-01-31. */
  day: string;
  provider: string;
  calls: number;
  /** Count per reason. "aborted" means the caller disconnected, which is not a failure of the upstream. */
  failures: Record<string, number>;
  /** Of all calls sent, including failed ones. */
  cost: Micros;
  /** The part of `cost` that was spent on searches the caller was charged for. */
  paidCost: Micros;
  revenue: Micros;
  /** Calls of searches that were not charged, and of searches in flight. */
  unpaidCalls: number;
  /** Unpaid calls of searches that the caller abandoned or that timed out by `Prefer: wait`. */
  abandonedCalls: number;
}

interface WalletFigures {
  calls: number;
  cost: Micros;
  paidCost: Micros;
  unpaidCalls: number;
  abandonedCalls: number;
  /** Charges in the ledger, as far as usage is rolled up. */
  revenue: Micros;
}

export interface WalletMarginRow extends WalletFigures {
  walletId: string;
}

export interface WalletDayRow extends WalletFigures {
  day: string;
  /** Null: the other wallets in total. */
  walletId: string | null;
}

export interface Margin {
  rows: MarginRow[];
  /** Charges in the ledger for searches of these days, as far as usage is rolled up. */
  charged: Micros;
}

/**
 * Cost and revenue per upstream and day, newest first, both days included. A cost is counted when the call is sent, so calls
 * in flight have no revenue yet. Servers count these and lose up to five seconds when they crash; `charged` is the exact revenue from the ledger. Runs as the owner or an operator.
 */
export async function readMargin(db: Queryable, { from, to }: { from: string; to: string }): Promise<Margin> {
  const { rows } = await db.query<MarginRow>(
    `select to_char(day, 'YYYY-MM-DD') as day, provider, sum(calls)::float8 as calls,
       coalesce(json_object_agg(outcome, calls) filter (where outcome <> 'ok'), '{}') as failures,
       sum(cost_micros)::bigint as cost, sum(paid_cost_micros)::bigint as "paidCost",
       sum(revenue_micros)::bigint as revenue, coalesce(max(unpaid), 0) as "unpaidCalls",
       coalesce(max(abandoned), 0) as "abandonedCalls"
     from pb.upstream_days u left join (
       select day, provider, sum(calls - paid_calls)::float8 as unpaid, sum(abandoned_calls)::float8 as abandoned
       from pb.upstream_wallet_days where day between $1 and $2 group by day, provider
     ) w using (day, provider)
     where u.day between $1 and $2
     group by u.day, provider order by u.day desc, provider`,
    [from, to],
  );
  const total = await db.query<{ charged: Micros }>(
    `select coalesce(sum(charged_micros), 0)::bigint as charged from pb.usage_days where day between $1 and $2`,
    [from, to],
  );
  return { rows, charged: total.rows[0]?.charged ?? 0n };
}

const walletFigures = `sum(calls)::float8 as calls, sum(cost_micros)::bigint as cost,
  sum(paid_cost_micros)::bigint as "paidCost", sum(calls - paid_calls)::float8 as "unpaidCalls",
  sum(abandoned_calls)::float8 as "abandonedCalls"`;

const walletOrders = {
  cost: 'cost desc, calls desc, "walletId"',
  unpaid: 'cost - "paidCost" desc, "unpaidCalls" desc, "walletId"',
};

/** The wallets with the highest cost, in total or of unpaid searches, first. Runs as the owner or an operator. */
export async function readWalletMargin(
  db: Queryable,
  query: { from: string; to: string; order: keyof typeof walletOrders; walletId?: string | undefined; limit: number },
): Promise<WalletMarginRow[]> {
  const { from, to, order, walletId, limit } = query;
  const { rows } = await db.query<WalletMarginRow>(
    `with figures as (
       select wallet_id as "walletId", ${walletFigures} from pb.upstream_wallet_days
       where day between $1 and $2 and ($3::uuid is null or wallet_id = $3) group by wallet_id
     )
     select f.*, coalesce((
         select sum(u.charged_micros) from pb.usage_days u where u.wallet_id = f."walletId" and u.day between $1 and $2
       ), 0)::bigint as revenue
     from (select * from figures order by ${walletOrders[order]} limit $4) f order by ${walletOrders[order]}`,
    [from, to, walletId ?? null, limit],
  );
  return rows;
}

/** By day, oldest first: each of the given wallets, and the others in total. Runs as the owner or an operator. */
export async function readWalletDays(
  db: Queryable,
  { from, to, walletIds }: { from: string; to: string; walletIds: readonly string[] },
): Promise<WalletDayRow[]> {
  const { rows } = await db.query<WalletDayRow>(
    `select to_char(day, 'YYYY-MM-DD') as day, w.id as "walletId", ${walletFigures},
       sum(charged_micros)::bigint as revenue
     from (
       select day, wallet_id, calls, cost_micros, paid_calls, paid_cost_micros, abandoned_calls, 0 as charged_micros
       from pb.upstream_wallet_days where day between $1 and $2
       union all
       select day, wallet_id, 0, 0, 0, 0, 0, charged_micros from pb.usage_days
       where day between $1 and $2 and charged_micros > 0
     ) f left join unnest($3::uuid[]) w (id) on w.id = f.wallet_id
     group by f.day, w.id order by f.day, w.id`,
    [from, to, walletIds],
  );
  return rows;
}

export interface AbandonedCalls {
  walletId: string;
  calls: number;
  cost: Micros;
}

/** Wallets that caused at least 20 unpaid calls in the last hour, and more unpaid than paid ones. At most ten. */
export async function readAbandonedCalls(db: Queryable): Promise<AbandonedCalls[]> {
  const { rows } = await db.query<AbandonedCalls>(
    `select wallet_id as "walletId", sum(calls)::float8 as calls, sum(cost_micros)::bigint as cost
     from pb.abandoned_calls where since > clock_timestamp() - interval '1 hour'
     group by wallet_id having sum(calls) >= 20 and sum(calls) > sum(paid_calls)
     order by sum(cost_micros) desc, sum(calls) desc limit 10`,
  );
  return rows;
}
