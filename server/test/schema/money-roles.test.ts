import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { DatabaseError } from "pg";
import { makePartitions, partitionDaysAhead } from "../../src/db/partitions.ts";
import type { Pool } from "../../src/db/pool.ts";
import { roles, type servingRoles } from "../../src/db/roles.ts";
import { beginTopUp, bookPayment } from "../../src/wallet/top-ups.ts";
import { setTrialTerms } from "../../src/wallet/trial-terms.ts";
import { openChecks } from "../../src/wallet/upkeep/hour-checks.ts";
import { formatReport, reconcile, runCheck } from "../../src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../../src/wallet/upkeep/reconcile-hours.ts";
import { readLastReport, saveReport } from "../../src/wallet/upkeep/save-report.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { testAct } from "../support/data/test-act.ts";
import { seedPayments } from "../support/payments/seed-payments.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";

// Which functions can create, move or delete money is derived from their source, so that a new one is refused to every
// role until its purpose is listed here.

const moneyTables = [
  "wallets",
  "transfers",
  "payments",
  "refunds",
  "reversals",
  "adjustments",
  "approval_limit",
  "openings",
  "window_openings",
  "top_ups",
  "trials",
  "trial_terms",
  "searches",
  "wallet_hours",
  "wallet_checkpoints",
  "ledger_hours",
];

/** The only functions with which a role can change these tables. */
const purposes: Record<(typeof servingRoles)[number], string[]> = {
  [roles.ledger]: ["hold", "capture", "release"],
  // Open a top-up, which moves nothing until its payment is booked. Change the wallet's alerts.
  [roles.tenant]: ["begin_top_up", "record_checkout", "delete_auto_top_up", "set_alerts"],
  [roles.payments]: ["begin_auto_top_ups", "book_payment", "end_top_up", "expire_top_ups", "reverse_payment"],
  [roles.operator]: [
    "operator_adjust",
    "operator_decide_adjustment",
    "operator_refund",
    "operator_suspend",
    "operator_transfer",
  ],
  // Opens an account with the trial credit of pb.trial_terms.
  [roles.people]: ["open_own_account"],
  // Expires holds, closes and signs hours, creates empty partitions and deletes old test searches, which cost nothing, windows
  // that have ended, and old refusals, for which no money was held.
  [roles.worker]: [
    "sweep",
    "prepare_hour",
    "close_hour",
    "sign_hour",
    "make_partitions",
    "delete_test_searches",
    "delete_ended_windows",
    "drop_old_requests",
  ],
};

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});

after(() => database.drop());

async function creditedTo(walletId: string): Promise<bigint | undefined> {
  const { rows } = await database.owner.query<{ credited: bigint }>(
    "select credited_micros as credited from pb.wallets where id = $1",
    [walletId],
  );
  return rows[0]?.credited;
}

test("the tenant role can open a top-up, but cannot book its payment", async () => {
  const { walletId } = await seedWallet(database.owner);
  const amount = 5_000_000n;
  const request = { amount, keyHmac: randomBytes(32), fingerprint: randomBytes(32) };
  const { id: topUpId } = await beginTopUp(database.tenant, walletId, request);
  const payment = { paymentId: "pi_never_existed", topUpId, amount, receiptUrl: null };
  await assert.rejects(bookPayment(database.tenant, walletId, payment), { code: "42501" });
  assert.equal(await creditedTo(walletId), 0n);
});

test("the role for sign-in cannot choose the amount or number of trial credits", async () => {
  const session = randomBytes(32);
  await database.people.query("select pb.begin_session('thief@example.com', true, $1, null, clock_timestamp())", [
    session,
  ]);
  const open = async (): Promise<bigint | undefined> => {
    const walletId = randomUUIDv7();
    const { rows } = await database.people.query("select pb.open_own_account($1, 'x', 'x', $2, $3, $4) as outcome", [
      session,
      walletId,
      randomBytes(32),
      randomUUIDv7(),
    ]);
    assert.deepEqual(rows, [{ outcome: "done" }]);
    return creditedTo(walletId);
  };
  assert.equal(await open(), 0n);
  await setTrialTerms(database.owner, { amount: 500_000n, maxPerDay: 1 }, testAct);
  assert.equal(await open(), 500_000n);
  assert.equal(await open(), 0n);
});

test("the worker's role can reconcile the ledger, save the report and create partitions", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 5_000_000n });
  await seedPayments(database.owner, walletId);
  const report = (await reconcileHours(database.worker, { waitMs: 0 })) ?? assert.fail("no other run is active");
  assert.ok(report.isClean, formatReport(report));
  const anHourAgo = new Date(Date.now() - 3_600_000);
  for (const check of openChecks(anHourAgo)) {
    const { compared } = await runCheck(database.worker, check);
    assert.equal(compared, (await runCheck(database.owner, check)).compared, `${check.name}: it sees every row`);
  }
  const { checks } = await reconcile(database.worker);
  assert.deepEqual(checks, (await reconcile(database.owner)).checks, "it sees every row");
  await saveReport(database.worker, report);
  assert.equal((await readLastReport(database.worker))?.differences, 0);
  assert.equal(await makePartitions(database.worker, 15), 3);
  assert.equal(await partitionDaysAhead(database.worker), 15);
});

interface MoneyFunction {
  name: string;
  /** A call with plausible arguments. */
  call: string;
}

/** Functions that write to a money table, themselves or through another function. Triggers cannot be called. */
async function listMoneyFunctions(): Promise<MoneyFunction[]> {
  const { rows } = await database.owner.query<{ name: string; source: string; types: string[]; isTrigger: boolean }>(
    `select p.proname as name, pg_get_functiondef(p.oid) as source, p.prorettype = 'trigger'::regtype as "isTrigger",
       array(select format_type(a, null) from unnest(p.proargtypes) a) as types
     from pg_proc p where p.pronamespace = 'pb'::regnamespace`,
  );
  const tables = moneyTables.join("|");
  const writes = new RegExp(
    `(?:insert into|update|delete from|truncate)\\s+pb\\.(?:(?:${tables})\\b|%)|(?:alter|create|drop) table pb\\.%`,
    "i",
  );
  const found = new Set(rows.filter(({ source }) => writes.test(source)).map(({ name }) => name));
  for (let before = -1; before < found.size; ) {
    before = found.size;
    const calls = new RegExp(`\\bpb\\.(?:${[...found].join("|")})\\(`);
    for (const { name, source } of rows) if (calls.test(source)) found.add(name);
  }
  return rows
    .filter(({ name, isTrigger }) => found.has(name) && !isTrigger)
    .map(({ name, types }) => ({ name, call: `select * from pb.${name}(${types.map(valueOf).join(", ")})` }));
}

function valueOf(type: string): string {
  const element = type.replace(/\[\]$/, "");
  const values: Record<string, string> = {
    uuid: "pb_test.wallet()",
    text: "'reference'",
    bigint: "1000000",
    integer: "1",
    boolean: "true",
    bytea: "'\\x00'",
    date: "(current_date - 40)",
  };
  const value = values[element] ?? `null::${element}`;
  return type.endsWith("[]") ? `array[${value}]::${type}` : `${value}::${type}`;
}

async function codeOf(pool: Pool, sql: string): Promise<string | undefined> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query(sql);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof DatabaseError, String(error));
    return error.code;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

test("the worker's role cannot close hours of the future, which would move the time of new entries", async () => {
  await database.worker.query("select * from pb.prepare_hour(clock_timestamp() + interval '3 hours')");
  const { rows } = await database.owner.query<{ is_past: boolean }>(
    "select coalesce(closing_before, closed_before) <= clock_timestamp() as is_past from pb.ledger_watermark",
  );
  assert.deepEqual(rows, [{ is_past: true }]);
});

test("no role can create, move or delete money other than for its purpose", async () => {
  const { walletId } = await seedWallet(database.owner);
  const functions = await listMoneyFunctions();
  const names = functions.map(({ name }) => name);
  for (const name of ["top_up", "book_payment", "refund", "close_day", "delete_account", "sign_up"])
    assert.ok(names.includes(name), `${name} is found`);
  const { ledger, tenant, payments, operator, people, worker } = database;
  const pools = { ledger, tenant, payments, operator, people, worker };
  for (const [role, pool] of Object.entries(pools) as [keyof typeof pools, Pool][]) {
    const allowed: string[] = [];
    for (const { name, call } of functions) {
      const code = await codeOf(pool, call.replaceAll("pb_test.wallet()", `'${walletId}'`));
      if (code !== "42501") allowed.push(name);
    }
    assert.deepEqual(allowed.toSorted(), purposes[roles[role]].toSorted(), role);
  }
});
