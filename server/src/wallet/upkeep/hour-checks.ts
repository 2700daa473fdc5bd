import type { Check } from "./reconcile.ts";
import { windowChecks } from "./reconcile-windows.ts";

// Checks of the hourly pass. Each is one short statement with its own snapshot: a long one would keep PostgreSQL from
// removing the old row versions of hot wallets. Times are literals, so that partitions are pruned and BRIN indexes used.

/**
 * Verifies one hour before it is closed. Its rows are final. Usage of the first retained day includes archived searches,
 * so it is compared by the full pass only.
 */
export function closingChecks(hour: Date, retainedSince: Date): Check[] {
  const until = addHours(hour, 1);
  // Rows of archived days may still exist. The boundary is a literal: with a subquery, PostgreSQL scans the primary key.
  const ids = `${idsOf(hour, until)} and id >= pb.uuid_floor(${literal(retainedSince)})`;
  // A search can be settled after the hour in which it was held, and before its hold if the clock was set back.
  const settled = `(
    select * from pb.searches where ${ids} and ${within("held_at", addHours(hour, -1 / 6), addHours(until, 1 / 6))}
      and ${within("settled_at", hour, until)} and state = 'captured' and mode = 'live'
  )`;
  const held = `(select * from pb.searches where ${ids} and ${within("held_at", hour, until)})`;
  const entries = `(select * from pb.transfers where ${ids} and ${within("created_at", hour, until)})`;
  const usageHours = `(select * from pb.usage_hours where hour = ${literal(hour)} and was_held)`;
  return [
    capturesCheck(settled, entries),
    refundsCheck(entries),
    referencesCheck(held, entries),
    ...(hour >= addHours(retainedSince, 24) ? [usageCheck(held, usageHours)] : []),
  ];
}

/** Verifies the hours that are still open, and that every counter equals the sums of closed hours and the open rows. */
export function openChecks(closedBefore: Date): Check[] {
  const entries = `(select * from pb.transfers where ${idsSince(closedBefore)} and created_at >= ${literal(closedBefore)})`;
  // A hold that became visible late, after a commit that hung, is pending until the thorough sweep.
  const searches = `(
    select * from pb.searches
    where ${idsSince(closedBefore)} and held_at >= ${literal(addHours(closedBefore, -1))}
      and (held_at >= ${literal(closedBefore)} or state = 'pending')
  )`;
  return [
    ...balanceChecks(entries, searches),
    ...windowChecks(searches, "window_checkpoints"),
    openCapturesCheck(closedBefore),
    refundsCheck(entries),
    refundRowsCheck,
    referencesCheck(searches, entries),
    idempotencyCheck(closedBefore, searches),
    overdueCheck(searches),
    usageCheck(
      `(select * from pb.searches where ${idsSince(closedBefore)} and held_at >= ${literal(closedBefore)}
        and held_at < (select counted_before from pb.usage_watermark))`,
      `(select * from pb.usage_hours where hour >= ${literal(closedBefore)} and was_held)`,
    ),
    usageDaysCheck(closedBefore),
    lateEntriesCheck(closedBefore),
  ];
}

function balanceChecks(entries: string, searches: string): Check[] {
  const counted = (column: "credited" | "debited", account: "to_account" | "from_account"): Check => ({
    name: column,
    sentence: `The amount ${column} of every wallet equals the sum of its closed hours and its later transfers.`,
    sql: `
      select coalesce(w.id, c.wallet_id, t.wallet_id), coalesce(c.${column}_micros, 0) + coalesce(t.micros, 0), w.${column}_micros
      from pb.wallets w
      full join pb.wallet_checkpoints c on c.wallet_id = w.id
      full join (
        select wallet_id, sum(amount_micros) as micros from ${entries} e where ${account} = 'wallet' group by wallet_id
      ) t on t.wallet_id = coalesce(w.id, c.wallet_id)`,
  });
  return [
    {
      name: "held",
      sentence: "The held amount of every wallet equals the sum of its pending searches.",
      sql: `
        select w.id, coalesce(s.micros, 0), w.held_micros
        from pb.wallets w
        left join (
          select wallet_id, sum(price_micros) as micros from ${searches} s where state = 'pending' group by wallet_id
        ) s on s.wallet_id = w.id`,
    },
    counted("debited", "from_account"),
    counted("credited", "to_account"),
    {
      name: "double entry",
      sentence: "The balances of all wallets equal the transfers from and to the other accounts.",
      sql: `
        select 'all wallets',
          (select opening_micros from pb.ledger_watermark)
          + (select coalesce(sum(credited_micros - debited_micros), 0) from pb.ledger_hours)
          + (select coalesce(sum(amount_micros), 0) from ${entries} e where from_account <> 'wallet' and to_account = 'wallet')
          - (select coalesce(sum(amount_micros), 0) from ${entries} e where from_account = 'wallet' and to_account <> 'wallet'),
          (select coalesce(sum(credited_micros - debited_micros), 0) from pb.wallets)`,
    },
  ];
}

function capturesCheck(settled: string, entries: string): Check {
  return {
    name: "captures",
    sentence: "Captured live searches and capture transfers match one to one, with the same wallet and amount.",
    sql: `
      select coalesce(s.id, t.id), s.wallet_id || ' ' || s.price_micros, t.wallet_id || ' ' || t.amount_micros
      from ${settled} s full join (select * from ${entries} e where kind = 'capture') t on t.id = s.id`,
  };
}

function openCapturesCheck(closedBefore: Date): Check {
  return capturesCheck(
    `(select * from pb.searches where ${idsSince(closedBefore)} and held_at >= ${literal(addHours(closedBefore, -1 / 6))}
      and settled_at >= ${literal(closedBefore)} and state = 'captured' and mode = 'live')`,
    `(select * from pb.transfers where ${idsSince(closedBefore)} and created_at >= ${literal(closedBefore)})`,
  );
}

function refundsCheck(entries: string): Check {
  return {
    name: "refunds",
    sentence: refundRowsCheck.sentence,
    sql: `
      select t.search_id, t.wallet_id || ' ' || t.amount_micros || ' ' || t.id,
        case when t.search_id < (select pb.retained_since()) then r.wallet_id || ' ' || pb.price_micros()
          else s.wallet_id || ' ' || s.price_micros end || ' ' || r.transfer_id
      from ${entries} t
      left join pb.refunds r on r.search_id = t.search_id
      left join pb.searches s on s.id = t.search_id and s.state = 'captured'
      where t.kind = 'refund'`,
  };
}

/** All refunds: an index contains the transfers that are not captures. */
const refundRowsCheck: Check = {
  name: "refunds",
  sentence: "Refunds and their transfers match one to one, each with the wallet and price of a captured search.",
  sql: `
    select coalesce(r.search_id, t.search_id), r.search_id || ' ' || r.wallet_id, t.search_id || ' ' || t.wallet_id
    from (select * from pb.refunds where transfer_id >= (select pb.retained_since())) r
    full join (select * from pb.transfers where kind = 'refund' and id >= (select pb.retained_since())) t
      on t.id = r.transfer_id`,
};

function referencesCheck(searches: string, entries: string): Check {
  return {
    name: "references",
    sentence: "No row refers to a wallet that does not exist, or to a key or window of another wallet.",
    sql: `
      select 'rows of ' || n.wallet_id, n.wallet_id, w.id
      from (select wallet_id from ${searches} s union select wallet_id from ${entries} e) n
      left join pb.wallets w on w.id = n.wallet_id
      union all
      select 'searches by key ' || s.key_id, s.wallet_id, k.wallet_id
      from (select distinct key_id, wallet_id from ${searches} s) s left join pb.keys k on k.id = s.key_id
      union all
      select 'searches in window ' || s.id, s.wallet_id, w.wallet_id
      from (
        select distinct n.id, s.wallet_id from ${searches} s cross join lateral unnest(s.window_ids) as n (id)
      ) s join pb.budget_windows w on w.id = s.id`,
  };
}

function usageCheck(held: string, usageHours: string): Check {
  return {
    name: "usage",
    sentence: "The charges in hourly usage equal the captured searches, per wallet.",
    sql: `
      select coalesce(s.wallet_id, u.wallet_id), coalesce(s.micros, 0), coalesce(u.micros, 0)
      from (select wallet_id, sum(price_micros) as micros from ${held} s where state = 'captured' group by 1) s
      full join (select wallet_id, sum(charged_micros) as micros from ${usageHours} h group by 1) u on u.wallet_id = s.wallet_id`,
  };
}

/** Recounts correct the last two days. */
function usageDaysCheck(closedBefore: Date): Check {
  const since = literal(addHours(closedBefore, -48));
  return {
    name: "usage, hours",
    sentence: "The hourly usage of the last days sums to the daily usage.",
    sql: `
      select coalesce(h.wallet_id, d.wallet_id) || ' on ' || coalesce(h.day, d.day),
        h.searches || ' searches, ' || h.micros, d.searches || ' searches, ' || d.micros
      from (
        select wallet_id, pb.utc_day(hour) as day, sum(searches) as searches, sum(charged_micros) as micros
        from pb.usage_hours where hour >= date_trunc('day', ${since}, 'utc') group by 1, 2
      ) h
      full join (
        select wallet_id, day, sum(searches) as searches, sum(charged_micros) as micros
        from pb.usage_days where day >= pb.utc_day(${since}) group by 1, 2
      ) d on d.wallet_id = h.wallet_id and d.day = h.day`,
  };
}

function idempotencyCheck(closedBefore: Date, searches: string): Check {
  const claims = `(
    select c.wallet_id, c.mode, c.key_hmac, c.search_id, c.answer from pb.idempotency c
    where c.claimed_at >= ${literal(closedBefore)}
  )`;
  return {
    name: "idempotency keys",
    sentence: "Every Idempotency-Key belongs to a pending search, or to a captured search with a stored answer.",
    sql: `
      select coalesce(s.id, c.search_id),
        case s.state when 'pending' then 'claimed' when 'captured' then 'answered' end,
        case when c.search_id is null then null when c.answer is null then 'claimed' else 'answered' end
      from ${claims} c
      full join (
        select s.* from ${searches} s
        left join (select distinct search_id from ${claims} c) kept on kept.search_id = s.id
        where s.idempotency_hmac is not null and s.held_at >= ${literal(closedBefore)}
          and (s.state = 'pending' or kept.search_id is not null)
      ) s on s.id = c.search_id and s.wallet_id = c.wallet_id and s.mode = c.mode and s.idempotency_hmac = c.key_hmac`,
  };
}

function overdueCheck(searches: string): Check {
  return {
    name: "overdue holds",
    sentence: "No hold is still pending five minutes after it expired.",
    sql: `
      select id, 'in time', case when expires_at < now() - interval '5 minutes' then 'overdue' else 'in time' end
      from ${searches} s where state = 'pending'`,
  };
}

/** An older one changes a counter as well, and is found by comparing wallets. */
function lateEntriesCheck(closedBefore: Date): Check {
  const since = addHours(closedBefore, -6);
  return {
    name: "late entries",
    sentence: "No transfer was added to one of the last closed hours, and none is missing.",
    sql: `
      select h.hour, h.entries, coalesce(t.entries, 0)
      from pb.ledger_hours h
      left join (
        select date_trunc('hour', created_at, 'utc') as hour, count(*) as entries from pb.transfers
        where ${idsOf(since, closedBefore)} and ${within("created_at", since, closedBefore)} group by 1
      ) t on t.hour = h.hour
      where h.hour >= ${literal(since)}`,
  };
}

const literal = (time: Date): string => `timestamptz '${time.toISOString()}'`;
const within = (column: string, since: Date, until: Date): string =>
  `${column} >= ${literal(since)} and ${column} < ${literal(until)}`;
/** An id is at most a day off the time of the hold, and a capture is up to a minute later. */
const idsSince = (since: Date): string => `id >= pb.uuid_floor(${literal(addHours(since, -25))})`;
const idsOf = (since: Date, until: Date): string =>
  `${idsSince(since)} and id < pb.uuid_floor(${literal(addHours(until, 25))})`;

function addHours(time: Date, hours: number): Date {
  return new Date(time.getTime() + hours * 3_600_000);
}
