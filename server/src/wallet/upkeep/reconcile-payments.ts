// Reconciliation checks of payments and reversals. As in reconcile.ts, each row is (subject, expected, actual). Both passes
// compare all of these rows: an index contains the transfers that are not captures.

export const paymentChecks = [
  {
    name: "payments",
    sentence: "Payments and the transfers of top-ups and credits match one to one, with the same wallet and amount.",
    sql: `
      select coalesce(p.payment_id, t.id::text), p.wallet_id || ' ' || p.amount_micros, t.wallet_id || ' ' || t.amount_micros
      from (select * from pb.payments where transfer_id >= (select pb.retained_since())) p
      full join (
        select * from pb.transfers where kind in ('top_up', 'credit') and id >= (select pb.retained_since())
      ) t on t.id = p.transfer_id`,
  },
  {
    name: "payments, closed days",
    sentence: "The credits of closed days equal the payments of those days, for every wallet.",
    sql: `
      select coalesce(p.wallet_id, o.wallet_id), p.micros, o.micros
      from (
        select wallet_id, sum(amount_micros) as micros from pb.payments
        where transfer_id < (select pb.retained_since()) group by 1
      ) p
      full join (
        select wallet_id, sum(amount_micros) as micros from pb.openings where kind in ('top_up', 'credit') group by 1
      ) o on o.wallet_id = p.wallet_id`,
  },
  {
    name: "top-ups",
    sentence: "Every paid top-up has its payment, with the same wallet and amount.",
    sql: `
      select t.id, t.payment_id || ' ' || t.wallet_id || ' ' || t.amount_micros,
        p.payment_id || ' ' || p.wallet_id || ' ' || p.amount_micros
      from pb.top_ups t left join pb.payments p on p.payment_id = t.payment_id
      where t.payment_id is not null`,
  },
  {
    name: "comparison",
    sentence:
      "Every top-up that is older than a day was opened before the last complete comparison with the processor.",
    sql: `
      select t.id, 'compared', case when t.created_at < c.compared_until then 'compared' else 'not compared' end
      from pb.top_ups t, pb.payment_comparison c where t.created_at < now() - interval '1 day'`,
  },
  {
    name: "manual credits",
    sentence: "Credits booked by operators and their payments match one to one, with the same wallet and amount.",
    sql: `
      select coalesce(a.payment_id, p.payment_id), a.transfer_id || ' ' || a.wallet_id || ' ' || a.amount_micros,
        p.transfer_id || ' ' || p.wallet_id || ' ' || p.amount_micros
      from (
        select case kind when 'payment' then reference else 'manual:' || reference end as payment_id, transfer_id, wallet_id,
          amount_micros
        from pb.adjustments where kind in ('invoice', 'promotion', 'payment') and state = 'booked'
      ) a
      full join pb.payments p on p.payment_id = a.payment_id
      where a.payment_id is not null or starts_with(p.payment_id, 'manual:')`,
  },
  {
    name: "reversals",
    sentence: "Amounts taken, owed, returned and recovered by refunds and disputes match their transfers one to one.",
    sql: `
      select coalesce(r.subject, t.id::text), r.expected, t.kind || ' ' || t.wallet_id || ' ' || t.amount_micros
      from (
        select reversal_id || ' taken' as subject, taken_transfer_id as transfer_id,
          'reversal ' || wallet_id || ' ' || taken_micros as expected
        from pb.reversals where taken_micros > 0 and taken_transfer_id >= (select pb.retained_since())
        union all
        select reversal_id || ' owed', owed_transfer_id, 'receivable ' || wallet_id || ' ' || owed_micros
        from pb.reversals where owed_micros > 0 and owed_transfer_id >= (select pb.retained_since())
        union all
        select reversal_id || ' returned', returned_transfer_id, 'reinstatement ' || wallet_id || ' ' || amount_micros
        from pb.reversals where returned_transfer_id >= (select pb.retained_since())
        union all
        select reversal_id || ' recovered', recovered_transfer_id, 'recovery ' || wallet_id || ' ' || recovered_micros
        from pb.reversals where recovered_transfer_id >= (select pb.retained_since())
      ) r
      full join (
        select * from pb.transfers where kind in ('reversal', 'receivable', 'reinstatement', 'recovery')
          and id >= (select pb.retained_since())
      ) t
        on t.id = r.transfer_id`,
  },
  {
    name: "corrected payments",
    sentence: "A payment that an operator has corrected is not taken back again by a refund or dispute.",
    sql: `
      select p.payment_id, 0, coalesce(sum(r.taken_micros + r.owed_micros), 0)
      from pb.payments p
      join pb.adjustments a on a.kind = 'correction' and a.reference = p.transfer_id::text and a.state = 'booked'
      left join pb.reversals r on r.payment_id = p.payment_id
      group by p.payment_id`,
  },
  {
    name: "deleted accounts",
    sentence: "No payment was credited to a wallet after its account was deleted.",
    sql: `
      select p.payment_id, 'before the deletion',
        case when p.created_at > a.deleted_at then 'after the deletion' else 'before the deletion' end
      from pb.payments p join pb.wallets w on w.id = p.wallet_id join pb.accounts a on a.id = w.account_id
      where a.deleted_at is not null`,
  },
  {
    name: "written-off debt",
    sentence:
      "What the processor returned, and the wallet did not owe, first recovered debt that had been written off.",
    sql: `
      select r.reversal_id,
        least(
          greatest(r.taken_micros + r.owed_micros - coalesce(sum(d.micros) filter (where d.is_owed), 0), 0),
          sum(d.micros) filter (where not d.is_owed)
        ),
        r.recovered_micros
      from pb.reversals r
      join (select * from pb.transfers where kind = 'reinstatement' and id >= (select pb.retained_since())) t
        on t.id = r.returned_transfer_id
      join (
        select wallet_id, true as is_owed, created_at as at,
          case from_account when 'receivable' then amount_micros else -amount_micros end as micros
        from pb.transfers where kind <> 'capture' and id >= (select pb.retained_since())
          and 'receivable' in (from_account, to_account)
        union all
        select wallet_id, true, '-infinity', case from_account when 'receivable' then amount_micros else -amount_micros end
        from pb.openings where 'receivable' in (from_account, to_account)
        union all
        select wallet_id, false, created_at, case from_account when 'bad_debt' then amount_micros else -amount_micros end
        from pb.transfers where kind <> 'capture' and id >= (select pb.retained_since())
          and 'bad_debt' in (from_account, to_account)
        union all
        select wallet_id, false, '-infinity', case from_account when 'bad_debt' then amount_micros else -amount_micros end
        from pb.openings where 'bad_debt' in (from_account, to_account)
      ) d on d.wallet_id = t.wallet_id and d.at < t.created_at
      group by r.reversal_id
      having bool_or(not d.is_owed)`,
  },
  {
    name: "debt",
    sentence: "What every wallet owes equals its receivables and recoveries minus settlements and write-offs.",
    sql: `
      select w.id, coalesce(t.micros, 0), w.owed_micros
      from pb.wallets w
      left join (
        select wallet_id,
          sum(case from_account when 'receivable' then amount_micros else -amount_micros end) as micros
        from (
          select wallet_id, from_account, to_account, amount_micros from pb.transfers
          where kind <> 'capture' and id >= (select pb.retained_since())
          union all select wallet_id, from_account, to_account, amount_micros from pb.openings
        ) m where 'receivable' in (from_account, to_account) group by wallet_id
      ) t on t.wallet_id = w.id`,
  },
  {
    name: "owes and can spend",
    sentence: "No wallet that owes money has money available, because newly available money pays the debt first.",
    sql: `
      select id, 0, credited_micros - debited_micros - held_micros
      from pb.wallets where owed_micros > 0`,
  },
  {
    name: "top-up states",
    sentence: "The status of every paid top-up (succeeded, refunded, disputed) matches its reversals.",
    sql: `
      select t.id,
        case
          when bool_or(r.kind = 'dispute' and r.state <> 'returned') then 'disputed'
          when sum(r.amount_micros) filter (where r.kind = 'refund' and r.state = 'taken') >= t.amount_micros then 'refunded'
          else 'succeeded'
        end || ' ' || coalesce(sum(r.amount_micros) filter (where r.kind = 'refund' and r.state = 'taken'), 0),
        t.status || ' ' || t.refunded_micros
      from pb.top_ups t left join pb.reversals r on r.payment_id = t.payment_id
      where t.payment_id is not null
      group by t.id`,
  },
];
