// Reconciliation checks of adjustments and closed months. As in reconcile.ts, each row is (subject, expected, actual).

export const adjustmentChecks = [
  {
    name: "adjustments",
    sentence: "Booked adjustments and their transfers match one to one, with the same kind, wallet and amount.",
    sql: `
      select coalesce(a.subject, t.id::text), a.expected, t.kind || ' ' || t.wallet_id || ' ' || t.amount_micros
      from (
        select kind || ' ' || reference as subject, transfer_id,
          kind || ' ' || wallet_id || ' ' || amount_micros - owed_micros as expected
        from pb.adjustments
        where transfer_id >= (select pb.retained_since()) and kind not in ('invoice', 'promotion', 'payment')
        union all
        select kind || ' ' || reference || ' owed', owed_transfer_id, 'correction ' || wallet_id || ' ' || owed_micros
        from pb.adjustments where owed_transfer_id >= (select pb.retained_since())
      ) a
      full join (
        select * from pb.transfers
        where kind in ('correction', 'payout', 'write_off', 'fee', 'breakage', 'transfer_out', 'transfer_in')
          and id >= (select pb.retained_since())
      ) t on t.id = a.transfer_id`,
  },
  {
    name: "approvals",
    sentence: "What an operator booked within 24 hours without another operator's approval is within the limit.",
    // A minute less, because the limit is compared after the time of the request was read. A fee counts alone.
    sql: `
      select kind || ' ' || reference, 'within the limit',
        case when micros <= limit_micros then 'within the limit' else 'above the limit' end
      from (
        select kind, reference, limit_micros, case kind when 'fee' then amount_micros else sum(amount_micros)
          filter (where kind <> 'fee')
          over (partition by operator order by requested_at range between interval '1439 minutes' preceding and current row)
        end as micros
        from pb.adjustments where state = 'booked' and approver is null
      ) a`,
  },
];

/** Reads a month of transfers, so it is part of the full pass only. */
export const closedMonthsCheck = {
  name: "closed months",
  sentence: "The trial balance of the last closed month equals the transfers, and its debits equal its credits.",
  // Not compared when days of the month are archived: their sums have no date.
  sql: `
      select to_char(c.month, 'YYYY-MM') || ' ' || t.account, s.line ->> 'debit_micros' || ' ' || (s.line ->> 'credit_micros'),
        t.debit_micros || ' ' || t.credit_micros
      from (
        select * from pb.closed_months m, pb.retention r
        where r.retained_since + 2 <= m.month order by m.month desc limit 1
      ) c
      cross join lateral pb.trial_balance(c.month) t
      left join lateral jsonb_array_elements(c.trial_balance) as s (line) on s.line ->> 'account' = t.account
      union all
      select to_char(c.month, 'YYYY-MM') || ' total', sum((s.line ->> 'debit_micros')::bigint)::text,
        sum((s.line ->> 'credit_micros')::bigint)::text
      from pb.closed_months c cross join lateral jsonb_array_elements(c.trial_balance) as s (line)
      group by c.month`,
};
