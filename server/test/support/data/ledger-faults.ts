import { paymentFaults } from "../payments/payment-faults.ts";

// One wrong amount in each table. Each must be found by the checks that it names.

export interface Fault {
  name: string;
  /** The checks of the full pass that find it. */
  finds: string[];
  /** The checks of the hourly pass, if they differ. Empty if only the full pass reads these rows. */
  hourly?: string[];
  sql: string;
  undo: string;
}

const anyOf = (table: string, where: string): string =>
  `(select id from pb.${table} where ${where} order by id limit 1)`;
const live = (state: string): string =>
  anyOf("searches", `mode = 'live' and state = '${state}' and cardinality(window_ids) > 1`);
const cent = (table: string, column: string, where: string): Omit<Fault, "finds"> => ({
  name: `${table}.${column}`,
  sql: `update pb.${table} set ${column} = ${column} + 1 where ${where}`,
  undo: `update pb.${table} set ${column} = ${column} - 1 where ${where}`,
});
const firstWallet = `id = ${anyOf("wallets", "true")}`;
const chargedUsage = `charged_micros > 0 and wallet_id = ${anyOf("wallets", "true")}`;
const window = (where: string): string =>
  `id = (select w.id from pb.budget_windows w left join pb.budgets b on b.id = w.budget_id
    where w.mode = 'live' and (w.resets_at is null or w.resets_at > now()) and ${where} order by w.id limit 1)`;

export const ledgerFaults: Fault[] = [
  ...paymentFaults,
  { ...cent("wallets", "held_micros", firstWallet), finds: ["held"] },
  { ...cent("wallets", "debited_micros", firstWallet), finds: ["debited", "double entry"] },
  { ...cent("wallets", "credited_micros", firstWallet), finds: ["credited", "double entry"] },
  {
    ...cent("transfers", "amount_micros", `id = ${anyOf("transfers", "kind = 'capture'")}`),
    finds: ["captures", "debited", "double entry"],
  },
  {
    ...cent("transfers", "amount_micros", `id = ${anyOf("transfers", "kind = 'refund'")}`),
    finds: ["refunds", "credited", "double entry"],
  },
  {
    ...cent("transfers", "amount_micros", `id = ${anyOf("transfers", "kind = 'top_up'")}`),
    finds: ["payments", "credited", "double entry"],
  },
  {
    ...cent(
      "payments",
      "amount_micros",
      "payment_id = (select min(payment_id) from pb.payments where payment_id not like 'old %')",
    ),
    finds: ["payments"],
  },
  { ...cent("payments", "amount_micros", "payment_id like 'old %'"), finds: ["payments, closed days"] },
  {
    ...cent("openings", "amount_micros", "kind = 'top_up'"),
    finds: ["payments, closed days", "credited", "double entry"],
    hourly: ["payments, closed days"],
  },
  { ...cent("openings", "amount_micros", "kind = 'capture'"), finds: ["debited", "double entry", "usage"], hourly: [] },
  { ...cent("window_openings", "micros", "true"), finds: ["windows"], hourly: [] },
  ...Object.entries({
    total: "w.resets_at is null",
    day: "b.period = 'day' and not b.per_end_user",
    month: "b.period = 'month' and not b.per_end_user",
    run: "w.budget_id is null",
    "end user": "b.per_end_user",
  }).map(([kind, where]) => ({
    ...cent("budget_windows", "spent_micros", window(where)),
    name: `budget_windows.spent_micros, ${kind}`,
    finds: ["windows"],
  })),
  ...["day", "month"].map((period) => ({
    name: `budget_windows: the window of a ${period} ends too late`,
    finds: ["window ends"],
    sql: `create table planted.changed as select id, resets_at from pb.budget_windows where ${window(`b.period = '${period}'`)};
      update pb.budget_windows set resets_at = resets_at + interval '2 months' where id in (select id from planted.changed)`,
    undo: "update pb.budget_windows w set resets_at = c.resets_at from planted.changed c where c.id = w.id",
  })),
  {
    ...cent("usage_days", "charged_micros", chargedUsage),
    finds: ["usage", "usage, hours"],
    hourly: ["usage, hours"],
  },
  {
    ...cent("usage_hours", "charged_micros", chargedUsage),
    finds: ["usage, hours"],
    hourly: ["usage", "usage, hours"],
  },
  { ...cent("usage_hours", "searches", chargedUsage), finds: ["usage, hours"] },
  {
    name: "usage: a day is missing",
    finds: ["usage", "usage, hours"],
    hourly: ["usage, hours"],
    sql: `create table planted.changed as select * from pb.usage_days where ${chargedUsage};
      delete from pb.usage_days where ${chargedUsage}`,
    undo: "insert into pb.usage_days select * from planted.changed",
  },
  {
    name: "searches: a search belongs to another wallet",
    finds: ["captures", "references"],
    sql: `create table planted.changed as select id, wallet_id from pb.searches where id = ${live("captured")};
      update pb.searches s set wallet_id = w.id from planted.changed c, pb.wallets w
      where s.id = c.id and w.id = (select id from pb.wallets where id <> c.wallet_id limit 1)`,
    undo: "update pb.searches s set wallet_id = c.wallet_id from planted.changed c where c.id = s.id",
  },
  {
    name: "refunds: a refund refers to another transfer",
    finds: ["refunds"],
    sql: `create table planted.changed as select * from pb.refunds order by search_id limit 1;
      update pb.refunds set transfer_id = pb.new_uuid() where search_id in (select search_id from planted.changed)`,
    undo: "update pb.refunds r set transfer_id = c.transfer_id from planted.changed c where c.search_id = r.search_id",
  },
  {
    name: "refunds: a refund refers to another wallet",
    finds: ["refunds"],
    sql: `create table planted.changed as select * from pb.refunds order by search_id limit 1;
      update pb.refunds r set wallet_id = (select id from pb.wallets where id <> r.wallet_id limit 1)
      where search_id in (select search_id from planted.changed)`,
    undo: "update pb.refunds r set wallet_id = c.wallet_id from planted.changed c where c.search_id = r.search_id",
  },
  {
    name: "searches: a pending search is marked captured",
    finds: ["captures", "held"],
    sql: `create table planted.changed as select ${live("pending")} as id;
      update pb.searches set state = 'captured', settled_at = now() where id in (select id from planted.changed)`,
    undo: "update pb.searches set state = 'pending', settled_at = null where id in (select id from planted.changed)",
  },
  {
    name: "searches: a captured search is marked released",
    finds: ["captures", "windows"],
    sql: `create table planted.changed as select ${live("captured")} as id;
      update pb.searches set state = 'released' where id in (select id from planted.changed)`,
    undo: "update pb.searches set state = 'captured' where id in (select id from planted.changed)",
  },
  {
    name: "searches: a hold is missed by the sweeper",
    finds: ["overdue holds"],
    sql: `create table planted.changed as select id, expires_at from pb.searches where id = ${live("pending")};
      update pb.searches set expires_at = now() - interval '6 minutes' where id in (select id from planted.changed)`,
    undo: "update pb.searches s set expires_at = c.expires_at from planted.changed c where c.id = s.id",
  },
  {
    name: "transfers: a charge is missing",
    finds: ["captures", "debited", "double entry"],
    sql: `create table planted.changed as select * from pb.transfers where id = ${anyOf("transfers", "kind = 'capture'")};
      delete from pb.transfers where id in (select id from planted.changed)`,
    undo: "insert into pb.transfers select * from planted.changed",
  },
  {
    name: "transfers: a charge belongs to a wallet that does not exist",
    finds: ["captures", "debited", "references"],
    sql: `create table planted.changed as select * from pb.transfers where id = ${anyOf("transfers", "kind = 'capture'")};
      update pb.transfers set wallet_id = gen_random_uuid() where id in (select id from planted.changed)`,
    undo: "update pb.transfers t set wallet_id = c.wallet_id from planted.changed c where c.id = t.id",
  },
  {
    name: "payments: a payment without its transfer",
    finds: ["payments"],
    sql: `insert into pb.payments (payment_id, wallet_id, transfer_id, amount_micros, created_at)
      select 'planted', id, pb.new_uuid(), 1, now() from pb.wallets limit 1`,
    undo: "delete from pb.payments where payment_id = 'planted'",
  },
  {
    name: "refunds: a refund transfer without its refund row",
    finds: ["refunds"],
    sql: `create table planted.changed as select * from pb.refunds order by search_id limit 1;
      delete from pb.refunds where search_id in (select search_id from planted.changed)`,
    undo: "insert into pb.refunds select * from planted.changed",
  },
  {
    name: "idempotency: a paid answer is missing",
    finds: ["idempotency keys"],
    sql: `create table planted.changed as select * from pb.idempotency where answer is not null limit 1;
      update pb.idempotency set answer = null where search_id in (select search_id from planted.changed)`,
    undo: "update pb.idempotency i set answer = c.answer from planted.changed c where c.search_id = i.search_id",
  },
  {
    name: "idempotency: a released search keeps its claim",
    finds: ["idempotency keys"],
    sql: `create table planted.changed as select * from pb.idempotency where answer is not null limit 1;
      update pb.idempotency set answer = null, search_id = ${anyOf("searches", "state = 'released'")}
      where search_id in (select search_id from planted.changed)`,
    undo: `update pb.idempotency i set answer = c.answer, search_id = c.search_id from planted.changed c
      where c.wallet_id = i.wallet_id and c.mode = i.mode and c.key_hmac = i.key_hmac`,
  },
  {
    name: "idempotency: a search in flight loses its claim",
    finds: ["idempotency keys"],
    sql: `create table planted.changed as select * from pb.idempotency where answer is null limit 1;
      delete from pb.idempotency where search_id in (select search_id from planted.changed)`,
    undo: "insert into pb.idempotency select * from planted.changed",
  },
];
