import type { Pool, Queryable } from "../../db/pool.ts";
import { adjustmentChecks, closedMonthsCheck } from "./reconcile-accounting.ts";
import { paymentChecks } from "./reconcile-payments.ts";
import { windowChecks } from "./reconcile-windows.ts";

// The full pass of reconciliation: recomputes every counter that the hot path maintains incrementally from all rows. All
// checks read one snapshot, so they are exact while searches run. The hourly pass is in reconcile-hours.ts.

export interface Difference {
  subject: string;
  expected: string | null;
  actual: string | null;
}

export interface CheckResult {
  name: string;
  /** The invariant that the check verifies. */
  sentence: string;
  compared: number;
  differing: number;
  /** The first five differences. */
  sample: Difference[];
}

/** Also the JSON format of the report. */
export interface ReconcileReport {
  /** Time of the snapshot, by the database's clock. */
  at: string;
  isClean: boolean;
  checks: CheckResult[];
}

/** Reads whole tables: needs a pool with a long statement timeout. Runs as the worker. */
export async function reconcile(pool: Pool): Promise<ReconcileReport> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    const { rows } = await client.query<{ at: Date }>("select now() as at");
    const results: CheckResult[] = [];
    for (const check of [...checks, ...paymentChecks, ...adjustmentChecks, closedMonthsCheck])
      results.push(await runCheck(client, check));
    return toReport(rows[0]?.at.toISOString() ?? "", results);
  } finally {
    // Also ends a failed transaction. Nothing was written.
    await client.query("rollback").finally(() => client.release());
  }
}

export async function runCheck(db: Queryable, { name, sentence, sql }: Check): Promise<CheckResult> {
  const { rows } = await db.query<Found>(countDifferences(sql));
  const { compared = 0n, differing = 0n, sample = [] } = rows[0] ?? {};
  return { name, sentence, compared: Number(compared), differing: Number(differing), sample };
}

export function toReport(at: string, results: CheckResult[]): ReconcileReport {
  return { at, isClean: results.every(({ differing }) => differing === 0), checks: results };
}

/** One line per check, followed by its first differences. */
export function formatReport(report: ReconcileReport): string {
  const width = Math.max(...report.checks.map((check) => check.name.length));
  const lines = report.checks.flatMap(({ name, sentence, compared, differing, sample }) => [
    `${differing === 0 ? "✓" : "✗"} ${name.padEnd(width)}  ${compared} compared, ${differing} differ. ${sentence}`,
    ...sample.map((each) => `    ${each.subject}: expected ${each.expected}, is ${each.actual}`),
  ]);
  return [...lines, `${report.isClean ? "Clean" : "NOT CLEAN"} at ${report.at}.`].join("\n");
}

interface Found {
  compared: bigint;
  differing: bigint;
  sample: Difference[];
}

function countDifferences(sql: string): string {
  return `
    with compared as materialized (
      select subject::text, expected::text, actual::text, expected::text is distinct from actual::text as differs
      from (${sql}) as c (subject, expected, actual)
    )
    select count(*) as compared, count(*) filter (where differs) as differing,
      coalesce((
        select json_agg(json_build_object('subject', subject, 'expected', expected, 'actual', actual))
        from (select * from compared where differs order by subject limit 5) first
      ), '[]') as sample
    from compared`;
}

export interface Check {
  name: string;
  /** The invariant. */
  sentence: string;
  /** Returns one row per comparison: subject, expected, actual. */
  sql: string;
}

// Closed days are represented by their sums in pb.openings, open days by their rows.
const searches = "(select * from pb.searches where id >= (select pb.retained_since()))";
const transfers = "(select * from pb.transfers where id >= (select pb.retained_since()))";
const movements = `(
  select wallet_id, kind, from_account, to_account, amount_micros from ${transfers} t
  union all
  select wallet_id, kind, from_account, to_account, amount_micros from pb.openings
)`;

export const checks: Check[] = [
  {
    name: "held",
    sentence: "The held amount of every wallet equals the sum of its pending searches.",
    sql: `
      select w.id, coalesce(s.micros, 0), w.held_micros
      from pb.wallets w
      left join (
        select wallet_id, sum(price_micros) as micros from pb.searches where state = 'pending' group by wallet_id
      ) s on s.wallet_id = w.id`,
  },
  {
    name: "debited",
    sentence: "The debits of every wallet equal the sum of its outgoing transfers.",
    sql: `
      select w.id, coalesce(t.micros, 0), w.debited_micros
      from pb.wallets w
      left join (
        select wallet_id, sum(amount_micros) as micros from ${movements} m where from_account = 'wallet' group by wallet_id
      ) t on t.wallet_id = w.id`,
  },
  {
    name: "credited",
    sentence: "The credits of every wallet equal the sum of its incoming transfers.",
    sql: `
      select w.id, coalesce(t.micros, 0), w.credited_micros
      from pb.wallets w
      left join (
        select wallet_id, sum(amount_micros) as micros from ${movements} m where to_account = 'wallet' group by wallet_id
      ) t on t.wallet_id = w.id`,
  },
  {
    name: "captures",
    sentence: "Captured live searches and capture transfers match one to one, with the same wallet and amount.",
    sql: `
      select coalesce(s.id, t.id), s.wallet_id || ' ' || s.price_micros, t.wallet_id || ' ' || t.amount_micros
      from (select * from ${searches} s where state = 'captured' and mode = 'live') s
      full join (select * from ${transfers} t where kind = 'capture') t on t.id = s.id`,
  },
  {
    name: "double entry",
    sentence: "The balances of all wallets and of all other accounts sum to zero.",
    sql: `
      select 'all accounts', 0,
        (select coalesce(sum(credited_micros - debited_micros), 0) from pb.wallets)
        + (select coalesce(sum(amount_micros), 0) from ${movements} m where to_account <> 'wallet')
        - (select coalesce(sum(amount_micros), 0) from ${movements} m where from_account <> 'wallet')`,
  },
  {
    name: "refunds",
    sentence: "Refunds and their transfers match one to one, each with the wallet and price of a captured search.",
    sql: `
      select coalesce(r.search_id, t.search_id),
        r.search_id || ' ' || case
          when r.search_id < (select pb.retained_since()) then r.wallet_id || ' ' || pb.price_micros()
          else s.wallet_id || ' ' || s.price_micros
        end,
        t.search_id || ' ' || t.wallet_id || ' ' || t.amount_micros
      from (select * from pb.refunds where transfer_id >= (select pb.retained_since())) r
      left join ${searches} s on s.id = r.search_id and s.wallet_id = r.wallet_id and s.state = 'captured'
      full join (select * from ${transfers} t where kind = 'refund') t on t.id = r.transfer_id`,
  },
  {
    name: "idempotency keys",
    sentence: "Every Idempotency-Key belongs to a pending search, or to a captured search with a stored answer.",
    sql: `
      select coalesce(s.id, c.search_id),
        case s.state when 'pending' then 'claimed' when 'captured' then 'answered' end,
        case when c.search_id is null then null when c.answer is null then 'claimed' else 'answered' end
      from pb.idempotency c
      full join (
        select s.* from ${searches} s
        left join (select distinct search_id from pb.idempotency) kept on kept.search_id = s.id
        where s.idempotency_hmac is not null and (s.state = 'pending' or kept.search_id is not null)
      ) s on s.id = c.search_id and s.wallet_id = c.wallet_id and s.mode = c.mode and s.idempotency_hmac = c.key_hmac`,
  },
  ...windowChecks(searches, "window_openings"),
  {
    name: "overdue holds",
    sentence: "No hold is still pending five minutes after it expired.",
    sql: `
      select id, 'in time', case when expires_at < now() - interval '5 minutes' then 'overdue' else 'in time' end
      from pb.searches where state = 'pending'`,
  },
  {
    name: "usage",
    sentence: "The charges in usage equal the captured searches counted so far, per wallet and day.",
    // Partitions are by id, which can be a day off the time of the hold, so the first retained day may be incomplete. It
    // is compared together with all closed days, whose captures are in the sums.
    sql: `
      select coalesce(s.wallet_id, u.wallet_id) || ' on ' || coalesce(s.day, u.day), coalesce(s.micros, 0), coalesce(u.micros, 0)
      from (
        select wallet_id, greatest(pb.utc_day(held_at), r.retained_since) as day, sum(price_micros) as micros
        from (
          select s.wallet_id, s.held_at, s.price_micros from ${searches} s
          where state = 'captured' and held_at < (select counted_before from pb.usage_watermark)
          union all
          select wallet_id, '-infinity', amount_micros from pb.openings where kind = 'capture'
        ) c, pb.retention r
        group by 1, 2
      ) s
      full join (
        select wallet_id, greatest(day, r.retained_since) as day, sum(charged_micros) as micros
        from pb.usage_days, pb.retention r group by 1, 2
      ) u on u.wallet_id = s.wallet_id and u.day = s.day`,
  },
  {
    name: "usage, hours",
    sentence: "The hourly usage sums to the daily usage.",
    sql: `
      select coalesce(h.wallet_id, d.wallet_id) || ' on ' || coalesce(h.day, d.day),
        h.searches || ' searches, ' || h.micros, d.searches || ' searches, ' || d.micros
      from (
        select wallet_id, pb.utc_day(hour) as day, sum(searches) as searches, sum(charged_micros) as micros
        from pb.usage_hours where pb.utc_day(hour) >= (select retained_since from pb.retention) group by 1, 2
      ) h
      full join (
        select wallet_id, day, sum(searches) as searches, sum(charged_micros) as micros
        from pb.usage_days where day >= (select retained_since from pb.retention) group by 1, 2
      ) d on d.wallet_id = h.wallet_id and d.day = h.day`,
  },
  {
    name: "references",
    sentence: "No row refers to a wallet that does not exist, or to a key or window of another wallet.",
    sql: `
      select distinct n.rows || ' ' || n.wallet_id, n.wallet_id, w.id
      from (
        select 'searches of' as rows, wallet_id from ${searches} s
        union select 'transfers of', wallet_id from ${transfers} t
        union select 'claims of', wallet_id from pb.idempotency
      ) n left join pb.wallets w on w.id = n.wallet_id
      union all
      select distinct 'searches by key ' || s.key_id, s.wallet_id, k.wallet_id
      from ${searches} s left join pb.keys k on k.id = s.key_id
      union all
      select distinct 'searches in window ' || w.id, s.wallet_id, w.wallet_id
      from ${searches} s cross join lateral unnest(s.window_ids) as n (id) join pb.budget_windows w on w.id = n.id`,
  },
];
