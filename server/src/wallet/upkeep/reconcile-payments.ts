// Reconciliation checks of payments and reversals. As in reconcile.ts, each row is (subject, expected, actual). Both passes
// compare all of these rows: an index contains the transfers that are not captures.

/** Payments move with their account, but their transfers stay in the cell that booked them. */
export const bookedHere = (column: string): string =>
  `not exists (select from pb.booked_elsewhere x where x.id = ${column})`;

export const paymentChecks = [
  {
    name: "payments",
    sentence: "Payments and the transfers of top-ups and credits match one to one, with the same wallet and amount.",
    sql: `
      select coalesce(p.payment_id, t.id::text), p.wallet_id || ' ' || p.amount_micros, t.wallet_id || ' ' || t.amount_micros
      from (
        select * from pb.payments where transfer_id >= (select pb.retained_since()) and ${bookedHere("transfer_id")}
      ) p
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
        where transfer_id < (select pb.retained_since()) and ${bookedHere("transfer_id")} group by 1
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
    name: "manual credits",
    sentence: "Manual credits and their payments match one to one, with the same wallet and amount.",
    sql: `
      select coalesce('manual:' || m.reference, p.payment_id), m.wallet_id || ' ' || m.amount_micros,
        p.wallet_id || ' ' || p.amount_micros
      from pb.manual_credits m
      full join (select * from pb.payments where starts_with(payment_id, 'manual:')) p
        on p.payment_id = 'manual:' || m.reference`,
  },
  {
    name: "reversals",
    sentence: "Amounts taken, owed and returned by refunds and disputes match their transfers one to one.",
    sql: `
      select coalesce(r.subject, t.id::text), r.expected, t.kind || ' ' || t.wallet_id || ' ' || t.amount_micros
      from (
        select reversal_id || ' taken' as subject, taken_transfer_id as transfer_id,
          'reversal ' || wallet_id || ' ' || taken_micros as expected
        from pb.reversals where taken_micros > 0 and taken_transfer_id >= (select pb.retained_since())
          and ${bookedHere("taken_transfer_id")}
        union all
        select reversal_id || ' owed', owed_transfer_id, 'receivable ' || wallet_id || ' ' || owed_micros
        from pb.reversals where owed_micros > 0 and owed_transfer_id >= (select pb.retained_since())
          and ${bookedHere("owed_transfer_id")}
        union all
        select reversal_id || ' returned', returned_transfer_id, 'reinstatement ' || wallet_id || ' ' || amount_micros
        from pb.reversals where returned_transfer_id >= (select pb.retained_since())
          and ${bookedHere("returned_transfer_id")}
      ) r
      full join (
        select * from pb.transfers where kind in ('reversal', 'receivable', 'reinstatement') and id >= (select pb.retained_since())
      ) t
        on t.id = r.transfer_id`,
  },
  {
    name: "debt",
    sentence: "What every wallet owes equals its receivables minus settlements and write-offs.",
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
    sentence: "No wallet that owes money has money available: whatever becomes available pays the debt first.",
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
