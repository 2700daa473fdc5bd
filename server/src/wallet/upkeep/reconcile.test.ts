import assert from "node:assert/strict";
import { createHash, randomInt, randomUUIDv7 } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { seedOldDay } from "../../../test/support/data/seed-old-day.ts";
import { seedBudget, seedKey, seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { paymentFaults } from "../../../test/support/payments/payment-faults.ts";
import { seedPayments } from "../../../test/support/payments/seed-payments.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { priceMicros } from "../../lib/money.ts";
import { expireHolds, refundBatch, topUpBatch } from "../statements.ts";
import { createLedger, type HoldRequest } from "../wallet.ts";
import { checks, formatReport, reconcile } from "./reconcile.ts";
import { paymentChecks } from "./reconcile-payments.ts";
import { dropOldDays } from "./retention.ts";
import { saveReport } from "./save-report.ts";

let database: TestDatabase;
const seeds: { walletId: string; keyId: string }[] = [];

before(async () => {
  database = await createTestDatabase();
  for (let created = 0; created < 3; created += 1) {
    const { walletId } = await seedWallet(database.owner, { credit: 10_000n * priceMicros });
    const budgetId = await seedBudget(database.owner, walletId, { total: 900_000n * priceMicros });
    seeds.push({ walletId, keyId: await seedKey(database.owner, walletId, { budgetId }) });
    seeds.push({ walletId, keyId: await seedKey(database.owner, walletId, { mode: "test" }) });
  }
  const { walletId } = await seedWallet(database.owner, { credit: priceMicros });
  await seedPayments(database.owner, walletId);
  // A day that was closed and dropped.
  await seedOldDay(database.owner, 60);
  const report = await reconcile(database.owner);
  assert.ok(report.isClean, formatReport(report));
  await saveReport(database.owner, report);
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-archive-"));
  await dropOldDays(database.owner, { days: 40, folder }, new AbortController().signal);
  rmSync(folder, { recursive: true });
});

after(() => database.drop());

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

function anyRequest(): HoldRequest {
  const seed = seeds[randomInt(seeds.length)] as { walletId: string; keyId: string };
  return {
    searchId: randomUUIDv7(),
    ...seed,
    ...(randomInt(2) === 0 && {
      idempotency: { keyHmac: sha256(`key ${randomInt(400)}`), fingerprint: sha256(`body ${randomInt(2)}`) },
    }),
    ...(randomInt(2) === 0 && {
      run: { name: `run ${randomInt(3)}`, maxMicros: 100_000n * priceMicros, ttlSeconds: 3_600 },
    }),
  };
}

/** Runs searches with every possible outcome. Some stay pending. */
async function spend(searches: number): Promise<void> {
  const ledger = createLedger(database.ledger);
  const search = async (): Promise<void> => {
    const item = anyRequest();
    const { outcome } = await ledger.hold(item);
    const end = outcome === "held" ? randomInt(10) : 10;
    if (end < 6) await ledger.capture({ ...item, answer: Buffer.from("an answer") });
    else if (end < 9) await ledger.release(item);
    if (end < 2) await refundBatch(database.owner, [{ ...item, reason: "a test" }]);
    if (end === 10)
      await topUpBatch(database.owner, "credit", [{ paymentId: randomUUIDv7(), walletId: item.walletId, amount: 1n }]);
  };
  const worker = async (): Promise<void> => {
    for (let done = 0; done < searches / 16; done += 1) await search();
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Rolls up usage to now. Moves the watermark manually, which pending holds would otherwise keep behind. */
async function countUsage(): Promise<void> {
  await database.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp()");
  await database.owner.query("select pb.roll_up_usage('10 days')");
}

test("a ledger under load reconciles cleanly at every moment", async () => {
  let isDone = false;
  const sweep = async (): Promise<void> => {
    // Makes a few abandoned holds overdue, then sweeps.
    for (;;) {
      if (isDone) return;
      await database.owner.query(
        `update pb.searches set expires_at = clock_timestamp() - interval '1 second'
         where state = 'pending' and held_at < clock_timestamp() - interval '300 milliseconds' and id in (
           select id from pb.searches where state = 'pending' order by id limit 5 for update skip locked)`,
      );
      await expireHolds(database.owner, 3);
    }
  };
  const watch = async (): Promise<number> => {
    for (let runs = 0; ; runs += 1) {
      const report = await reconcile(database.owner);
      assert.ok(report.isClean, formatReport(report));
      if (isDone) return runs;
    }
  };
  const spending = spend(480).finally(() => {
    isDone = true;
  });
  const [runs] = await Promise.all([watch(), sweep(), spending]);
  assert.ok(runs > 3, "reconciliation ran while money moved");
});

interface Fault {
  name: string;
  finds: string[];
  sql: string;
  undo: string;
}

const anyOf = (table: string, where: string): string =>
  `(select id from pb.${table} where ${where} order by id limit 1)`;
const live = (state: string): string =>
  anyOf("searches", `mode = 'live' and state = '${state}' and key_budget_id is not null and run_budget_id is not null`);
const cent = (table: string, column: string, where: string): Omit<Fault, "finds"> => ({
  name: `${table}.${column}`,
  sql: `update pb.${table} set ${column} = ${column} + 1 where ${where}`,
  undo: `update pb.${table} set ${column} = ${column} - 1 where ${where}`,
});
const firstWallet = `id = ${anyOf("wallets", "true")}`;
const chargedUsage = `charged_micros > 0 and wallet_id = ${anyOf("wallets", "true")}`;
const firstBudget = `id = ${anyOf("key_budgets", "true")}`;

const faults: Fault[] = [
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
  },
  { ...cent("openings", "amount_micros", "kind = 'capture'"), finds: ["debited", "double entry", "usage"] },
  { ...cent("budget_openings", "amount_micros", "true"), finds: ["key budgets, total"] },
  { ...cent("key_budgets", "total_spent_micros", firstBudget), finds: ["key budgets, total"] },
  { ...cent("key_budgets", "day_spent_micros", firstBudget), finds: ["key budgets, day"] },
  { ...cent("key_budgets", "month_spent_micros", firstBudget), finds: ["key budgets, month"] },
  { ...cent("run_budgets", "spent_micros", `id = ${anyOf("run_budgets", "true")}`), finds: ["runs"] },
  { ...cent("usage_days", "charged_micros", chargedUsage), finds: ["usage", "usage, hours"] },
  {
    ...cent("usage_hours", "charged_micros", chargedUsage),
    finds: ["usage, hours"],
  },
  { ...cent("usage_hours", "searches", chargedUsage), finds: ["usage, hours"] },
  {
    name: "usage: a day is missing",
    finds: ["usage", "usage, hours"],
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
    finds: ["captures", "key budgets, total", "key budgets, day", "key budgets, month", "runs"],
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

test("the searches table rejects a wrong price", async () => {
  await spend(16);
  await assert.rejects(database.owner.query("update pb.searches set price_micros = price_micros + 1"), {
    constraint: "live_searches_cost_the_price",
  });
});

test("a single wrong amount in any table is found by the matching check", async (t) => {
  await spend(320);
  await countUsage();
  await database.owner.query("create schema planted");
  for (const fault of faults)
    await t.test(fault.name, async () => {
      await database.owner.query(fault.sql);
      const report = await reconcile(database.owner);
      const found = report.checks.filter((check) => check.differing > 0).map((check) => check.name);
      for (const name of fault.finds) assert.ok(found.includes(name), `${name} is not among ${found.join(", ")}`);
      assert.equal(report.isClean, false);
      assert.match(formatReport(report), /✗ .*[1-9]\d* differ/);
      await database.owner.query(`${fault.undo}; drop table if exists planted.changed`);
    });
  const report = await reconcile(database.owner);
  assert.ok(report.isClean, formatReport(report));
  const vacuous = report.checks.filter((check) => check.compared === 0).map((check) => check.name);
  assert.deepEqual(vacuous, [], "every check compared something");
  const planted = new Set(faults.flatMap((fault) => fault.finds));
  assert.deepEqual(
    report.checks.map((check) => check.name).filter((name) => !planted.has(name)),
    [],
    "every check failed at least once",
  );
  assert.deepEqual(JSON.parse(JSON.stringify(report)), report, "the report survives JSON");
});

test("no check runs a subquery per row, which would take hours on large tables", async () => {
  for (const { name, sql } of [...checks, ...paymentChecks]) {
    const { rows } = await database.owner.query<{ "QUERY PLAN": string }>(`explain ${sql}`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    assert.doesNotMatch(plan, /SubPlan/, `${name}\n${plan}`);
  }
});
