import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type BusyLedger, createBusyLedger } from "../../../test/support/data/busy-ledger.ts";
import { passWatermarks } from "../../../test/support/data/close-due-hours.ts";
import { type Fault, ledgerFaults } from "../../../test/support/data/ledger-faults.ts";
import { withoutTriggers } from "../../../test/support/data/without-triggers.ts";
import type { TestDatabase } from "../../../test/support/services/database.ts";
import { closingChecks, openChecks } from "./hour-checks.ts";
import { checks, formatReport, type ReconcileReport, reconcile } from "./reconcile.ts";
import { closedMonthsCheck } from "./reconcile-accounting.ts";
import { reconcileHours } from "./reconcile-hours.ts";
import { paymentChecks } from "./reconcile-payments.ts";

let ledger: BusyLedger;
let database: TestDatabase;

before(async () => {
  ledger = await createBusyLedger();
  ({ database } = ledger);
});

after(() => database.drop());

const passes: Record<string, { run: () => Promise<ReconcileReport>; findsOf: (fault: Fault) => string[] }> = {
  full: { run: () => reconcile(database.owner), findsOf: ({ finds }) => finds },
  hourly: { run: runHourly, findsOf: ({ finds, hourly }) => hourly ?? finds },
};

async function runHourly(): Promise<ReconcileReport> {
  const report = await reconcileHours(database.owner);
  assert.ok(report, "no other run is active");
  return report;
}

for (const [name, { run }] of Object.entries(passes))
  test(`a ledger under load reconciles cleanly at every moment, ${name} pass`, async () => {
    const reports: ReconcileReport[] = [];
    const done = new AbortController();
    const end = (): void => done.abort();
    const watch = async (): Promise<void> => {
      while (!done.signal.aborted) {
        const report = await run();
        assert.ok(report.isClean, formatReport(report));
        reports.push(report);
      }
    };
    // Money moves until reconciliation has run several times.
    const spend = async (): Promise<void> => {
      do await ledger.spend(480);
      while (reports.length < 4 && !done.signal.aborted);
    };
    await Promise.all([watch().finally(end), ledger.sweepDuring(spend().finally(end))]);
  });

test("the searches table rejects a wrong price", async () => {
  await ledger.spend(16);
  await assert.rejects(database.owner.query("update pb.searches set price_micros = price_micros + 1"), {
    constraint: "live_searches_cost_the_price",
  });
});

test("a single wrong amount in any table is found by the matching checks of both passes", async (t) => {
  await ledger.spend(320);
  await passWatermarks(database.owner);
  await database.owner.query("create schema planted");
  for (const fault of ledgerFaults)
    await t.test(fault.name, async () => {
      await database.owner.query(withoutTriggers(fault.sql));
      for (const { run, findsOf } of Object.values(passes)) {
        if (findsOf(fault).length === 0) continue;
        const report = await run();
        const found = report.checks.filter((check) => check.differing > 0).map((check) => check.name);
        for (const name of findsOf(fault)) assert.ok(found.includes(name), `${name} is not among ${found.join(", ")}`);
        assert.equal(report.isClean, false);
        assert.match(formatReport(report), /✗ .*[1-9]\d* differ/);
      }
      await database.owner.query(withoutTriggers(`${fault.undo}; drop table if exists planted.changed`));
    });
  for (const { run, findsOf } of Object.values(passes)) {
    const report = await run();
    assert.ok(report.isClean, formatReport(report));
    const vacuous = report.checks.filter((check) => check.compared === 0).map((check) => check.name);
    assert.deepEqual(vacuous, [], "every check compared something");
    const planted = new Set([...ledgerFaults.flatMap(findsOf), "closed hours", "late entries"]);
    assert.deepEqual(
      report.checks.map((check) => check.name).filter((name) => !planted.has(name)),
      [],
      "every check failed at least once",
    );
    assert.deepEqual(JSON.parse(JSON.stringify(report)), report, "the report survives JSON");
  }
});

test("wrong amounts of play money are ignored, and a wrong amount of a live budget or run is found beside them", async () => {
  await ledger.spend(320);
  const forge = (mode: "live" | "test", amount: number): Promise<unknown> =>
    database.owner.query(`
      update pb.budget_windows set spent_micros = spent_micros + ${amount} where mode = '${mode}' and spent_micros > 0`);
  const { rows } = await database.owner.query<{ spent: bigint }>(
    `select least(
       sum(spent_micros) filter (where budget_id is null), sum(spent_micros) filter (where budget_id is not null)
     )::bigint as spent from pb.budget_windows where mode = 'test'`,
  );
  assert.ok((rows[0]?.spent ?? 0n) > 0n, "test searches spend play money");
  await forge("test", 10_000);
  for (const { run } of Object.values(passes)) {
    const report = await run();
    assert.ok(report.isClean, formatReport(report));
  }
  await forge("live", 10_000);
  for (const { run } of Object.values(passes)) {
    const found = (await run()).checks.filter((check) => check.differing > 0).map((check) => check.name);
    assert.deepEqual(found, ["windows"]);
  }
  await forge("live", -10_000);
});

test("checks of payments, which both passes run on all rows, read no captures", () => {
  for (const { name, sql } of paymentChecks) {
    assert.equal(sql.match(/pb\.transfers\b/g)?.length, sql.match(/pb\.transfers\s+where kind /g)?.length, name);
  }
});

test("no check runs a subquery per row, which would take hours on large tables", async () => {
  const now = new Date();
  const all = [...checks, ...paymentChecks, closedMonthsCheck, ...openChecks(now), ...closingChecks(now, now)];
  for (const { name, sql } of all) {
    const { rows } = await database.owner.query<{ "QUERY PLAN": string }>(`explain ${sql}`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    assert.doesNotMatch(plan, /SubPlan/, `${name}\n${plan}`);
  }
});
