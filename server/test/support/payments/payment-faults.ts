// Wrong amounts in the payment tables, for reconcile.test.ts. Each must be found by the checks that it names.

const cent = (table: string, column: string, where: string) => ({
  name: `${table}.${column} (${where})`,
  sql: `update pb.${table} set ${column} = ${column} + 1 where ${where}`,
  undo: `update pb.${table} set ${column} = ${column} - 1 where ${where}`,
});
const transferOf = (kind: string) => cent("transfers", "amount_micros", `kind = '${kind}'`);

export const paymentFaults = [
  { ...cent("payments", "amount_micros", "payment_id like 'pi\\_%'"), finds: ["top-ups", "payments"] },
  { ...cent("adjustments", "amount_micros", "kind = 'invoice'"), finds: ["manual credits"] },
  {
    name: "adjustments: booked above the limit without approval",
    sql: "update pb.adjustments set limit_micros = limit_micros - 90000000 where operator = 'corrections'",
    undo: "update pb.adjustments set limit_micros = limit_micros + 90000000 where operator = 'corrections'",
    finds: ["approvals"],
  },
  {
    name: "payment_comparison: not complete for three days",
    sql: "update pb.payment_comparison set compared_until = compared_until - interval '3 days'",
    undo: "update pb.payment_comparison set compared_until = compared_until + interval '3 days'",
    finds: ["comparison"],
  },
  { ...cent("wallets", "owed_micros", "owed_micros > 0"), finds: ["debt"] },
  {
    ...cent("wallets", "credited_micros", "owed_micros > 0"),
    name: "wallets: a credit that did not pay the debt",
    finds: ["owes and can spend", "credited", "double entry"],
  },
  { ...cent("top_ups", "refunded_micros", "payment_id is not null"), finds: ["top-up states"] },
  { ...transferOf("reversal"), finds: ["reversals", "debited", "double entry"] },
  { ...transferOf("receivable"), finds: ["reversals", "debt"] },
  { ...transferOf("settlement"), finds: ["debt", "debited", "double entry"] },
  { ...transferOf("reinstatement"), finds: ["reversals", "credited", "double entry"] },
  { ...cent("adjustments", "amount_micros", "kind = 'fee'"), finds: ["adjustments"] },
  { ...transferOf("fee"), finds: ["adjustments"] },
  {
    name: "closed_months: debits and credits differ",
    sql: `create table planted.changed as select * from pb.closed_months;
      update pb.closed_months set trial_balance = jsonb_set(trial_balance, '{0,debit_micros}', '"1"')`,
    undo: "update pb.closed_months m set trial_balance = c.trial_balance from planted.changed c where c.month = m.month",
    finds: ["closed months"],
    hourly: [],
  },
  {
    name: "reversals: a corrected payment is refunded again",
    sql: `update pb.reversals set taken_micros = amount_micros, taken_transfer_id = gen_random_uuid()
      where payment_id like 'pi\\_corrected%'`,
    undo: `update pb.reversals set taken_micros = 0, taken_transfer_id = null
      where payment_id like 'pi\\_corrected%'`,
    finds: ["corrected payments", "reversals"],
  },
  {
    name: "accounts: deleted before a payment",
    sql: "update pb.accounts set deleted_at = deleted_at - interval '1 hour'",
    undo: "update pb.accounts set deleted_at = deleted_at + interval '1 hour'",
    finds: ["deleted accounts"],
  },
  {
    name: "reversals: written-off debt is not recovered",
    sql: `create table planted.changed as select * from pb.reversals where reversal_id like 'dp\\_recovered%';
      update pb.reversals set recovered_micros = 0, recovered_transfer_id = null where reversal_id like 'dp\\_recovered%'`,
    undo: `update pb.reversals r set recovered_micros = c.recovered_micros, recovered_transfer_id = c.recovered_transfer_id
      from planted.changed c where c.reversal_id = r.reversal_id`,
    finds: ["written-off debt", "reversals"],
  },
  { ...transferOf("recovery"), finds: ["reversals", "debt"] },
  {
    name: "reversals: a dispute is missing",
    sql: `create table planted.changed as select * from pb.reversals where kind = 'dispute';
      delete from pb.reversals where kind = 'dispute'`,
    undo: "insert into pb.reversals select * from planted.changed; drop table planted.changed",
    finds: ["reversals", "top-up states"],
  },
];
