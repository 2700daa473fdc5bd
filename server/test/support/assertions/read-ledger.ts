import type { Queryable } from "../../../src/db/pool.ts";

/**
 * All rows about some wallets as sorted lines, which are easy to compare and to read in a diff. Searches have higher ids
 * than their wallets, so older ones need not be read.
 */
export async function readLedger(owner: Queryable, walletIds: string[]): Promise<string[]> {
  const values = [walletIds, walletIds.toSorted()[0]];
  const { rows } = await owner.query<{ line: string }>({ name: "read-ledger", text: readRows, values });
  return rows.map((row) => row.line).sort();
}

const readRows = `
  select concat_ws(' ', 'wallet', id, credited_micros, debited_micros, held_micros, owed_micros, suspended_at is not null) as line
  from pb.wallets where id = any ($1)
  union all
  select concat_ws(' ', 'window', wallet_id, mode, coalesce(budget_id::text, 'run'), coalesce(nullif(subject, ''), '-'),
    coalesce(limit_micros::text, '-'), spent_micros, coalesce(resets_at <= clock_timestamp(), false))
  from pb.budget_windows where wallet_id = any ($1)
  union all
  select concat_ws(' ', 'search', s.id, s.wallet_id, s.mode, s.price_micros, s.state,
    coalesce(s.end_user, '-'), coalesce(cardinality(s.window_ids), 0), coalesce((
      select string_agg(coalesce(w.budget_id::text, 'run') || ':' || w.subject, ',' order by w.budget_id, w.subject)
      from pb.budget_windows w where w.id = any (s.window_ids)
    ), '-'))
  from pb.searches s where s.wallet_id = any ($1) and s.id >= $2
  union all
  select concat_ws(' ', 'claim', wallet_id, mode, encode(key_hmac, 'hex'), encode(fingerprint, 'hex'), search_id,
    coalesce(encode(answer, 'hex'), '-'))
  from pb.idempotency where wallet_id = any ($1)
  union all
  select concat_ws(' ', 'warning', wallet_id, data #>> '{budget,id}', data ->> 'percent')
  from pb.events where wallet_id = any ($1) and type = 'budget.threshold'
  union all
  select concat_ws(' ', 'payment', p.wallet_id, p.payment_id, t.amount_micros, t.kind)
  from pb.payments p left join pb.transfers t on t.id = p.transfer_id and t.amount_micros = p.amount_micros
  where p.wallet_id = any ($1)
  union all
  select concat_ws(' ', 'refund', r.wallet_id, r.search_id, t.amount_micros)
  from pb.refunds r left join pb.transfers t on t.id = r.transfer_id and t.search_id = r.search_id
  where r.wallet_id = any ($1)
  union all
  select concat_ws(' ', kind, wallet_id, amount_micros)
  from pb.transfers where kind in ('reversal', 'receivable', 'settlement', 'reinstatement') and wallet_id = any ($1)
    and id >= $2
  union all
  select concat_ws(' ', 'charge', wallet_id, search_id, amount_micros)
  from pb.transfers where kind = 'capture' and wallet_id = any ($1) and id >= $2`;
