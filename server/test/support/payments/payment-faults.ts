// Wrong amounts in the payment tables, for reconcile.test.ts. Each must be found by the checks that it names.

const cent = (table: string, column: string, where: string) => ({
  name: `${table}.${column} (${where})`,
  sql: `update pb.${table} set ${column} = ${column} + 1 where ${where}`,
  undo: `update pb.${table} set ${column} = ${column} - 1 where ${where}`,
});
const transferOf = (kind: string) => cent("transfers", "amount_micros", `kind = '${kind}'`);

export const paymentFaults = [
  { ...cent("payments", "amount_micros", "payment_id like 'pi\\_%'"), finds: ["top-ups", "payments"] },
  { ...cent("manual_credits", "amount_micros", "true"), finds: ["manual credits"] },
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
    name: "reversals: a dispute is missing",
    sql: `create table planted.changed as select * from pb.reversals where kind = 'dispute';
      delete from pb.reversals where kind = 'dispute'`,
    undo: "insert into pb.reversals select * from planted.changed; drop table planted.changed",
    finds: ["reversals", "top-up states"],
  },
];
