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
  { ...cent("receivables", "owed_micros", "true"), finds: ["receivables"] },
  { ...cent("top_ups", "refunded_micros", "payment_id is not null"), finds: ["top-up states"] },
  { ...transferOf("reversal"), finds: ["reversals", "debited", "double entry"] },
  { ...transferOf("receivable"), finds: ["reversals", "receivables"] },
  { ...transferOf("settlement"), finds: ["receivables", "debited", "double entry"] },
  { ...transferOf("reinstatement"), finds: ["reversals", "credited", "double entry"] },
  {
    name: "reversals: a dispute is missing",
    sql: `create table planted.changed as select * from pb.reversals where kind = 'dispute';
      delete from pb.reversals where kind = 'dispute'`,
    undo: "insert into pb.reversals select * from planted.changed; drop table planted.changed",
    finds: ["reversals", "top-up states"],
  },
];
