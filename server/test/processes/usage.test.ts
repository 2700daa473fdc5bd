import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { until } from "../support/assertions/until.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { addJob, startWorker } from "./worker-fixture.ts";

let db: TestDatabase;

before(async () => {
  db = await createTestDatabase();
});

after(() => db.drop());

/** Failed searches, one every three minutes for sixty days: a backlog of 1,440 steps. */
async function seedBacklog(): Promise<void> {
  const { walletId, keyId } = await seedWallet(db.owner, {});
  await db.owner.query("select pb.make_partitions(pb.utc_day(now()) - 61, pb.utc_day(now()))");
  await db.owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at, outcome)
     select (left(pb.uuid_floor(at)::text, 14) || '7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, $2, 'live', 10000,
       'released', at, at, at, 'upstream_error'
     from generate_series(1, 60 * 480) n, lateral (select now() - interval '60 days' + n * interval '3 minutes' as at) m`,
    [walletId, keyId],
  );
  await db.owner.query("update pb.usage_watermark set counted_before = now() - interval '60 days'");
}

async function progress(): Promise<{ hours: number; days: number; isDone: boolean }> {
  const { rows } = await db.owner.query<{ hours: number; days: number; isDone: boolean }>(
    `select (select coalesce(sum(searches), 0)::int from pb.usage_hours) as hours,
       (select coalesce(sum(searches), 0)::int from pb.usage_days) as days,
       u.counted_before >= now() - interval '5 minutes' as "isDone"
     from pb.usage_watermark u`,
  );
  return rows[0] ?? assert.fail();
}

test("workers killed during a roll-up neither lose nor double usage", async () => {
  await seedBacklog();
  for (let kill = 0; kill < 3; kill += 1) {
    const worker = await startWorker(db);
    const { hours: before } = await progress();
    await until("the sweep has moved its watermark", async () => (await sweptSecondsAgo()) < 150);
    await addJob(db, "roll_up_usage");
    await until("some are counted", async () => (await progress()).hours > before);
    worker.process.kill("SIGKILL");
    await once(worker.process, "exit");
    const { hours, days, isDone } = await progress();
    assert.equal(hours, days);
    assert.ok(hours > before && !isDone, `killed during the roll-up, at ${hours}`);
  }
  const worker = await startWorker(db);
  await addJob(db, "roll_up_usage");
  await until("all are counted", async () => (await progress()).isDone);
  const { rows } = await db.owner.query<{ count: number }>(
    "select count(*)::int as count from pb.searches where held_at < (select counted_before from pb.usage_watermark)",
  );
  assert.deepEqual(await progress(), { hours: rows[0]?.count, days: rows[0]?.count, isDone: true });
  assert.ok((rows[0]?.count ?? 0) > 28_790);
  const { checks } = await reconcile(db.owner);
  for (const { name, differing } of checks) if (name.startsWith("usage")) assert.equal(differing, 0, name);

  await insertLateHold();
  await addJob(db, "sweep_thoroughly");
  await until("a hold that was committed late is counted", async () => (await expiredSearches()) === 1);

  await db.owner.query("update pb.usage_hours set searches = searches + 1 where hour > now() - interval '5 hours'");
  await addJob(db, "recount_usage");
  await until(
    "the correction is counted",
    async () => (await worker.metric("pennyblack_usage_corrections_total")) >= 4,
  );
  assert.equal(await worker.stop(), 0);
  assert.match(worker.logged(), /corrected usage/);
});

/** A hold from three hours ago that is committed only now. */
async function insertLateHold(): Promise<void> {
  const { walletId, keyId } = await seedWallet(db.owner, {});
  await db.owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at)
     select (left(pb.uuid_floor(at)::text, 14) || '7000-8000-000000000000')::uuid, $1, $2, 'test', 0, 'pending', at, at
     from (select now() - interval '3 hours' as at) m`,
    [walletId, keyId],
  );
}

async function expiredSearches(): Promise<number> {
  const { rows } = await db.owner.query<{ searches: number }>(
    "select coalesce(sum(searches), 0)::int as searches from pb.usage_days where outcome = 'expired' and mode = 'test'",
  );
  return rows[0]?.searches ?? 0;
}

async function sweptSecondsAgo(): Promise<number> {
  const { rows } = await db.owner.query<{ seconds: number }>(
    "select extract(epoch from now() - settled_before)::float8 as seconds from pb.sweep_watermark",
  );
  return rows[0]?.seconds ?? Number.POSITIVE_INFINITY;
}

const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);

async function seedMargin(walletId: string): Promise<void> {
  const row = { cost_micros: 0, paid_cost_micros: 0, revenue_micros: 0 };
  await db.ledger.query("select pb.write_tally($1, 1, '[]', $2, $3, '{}')", [
    randomUUIDv7(),
    JSON.stringify([
      {
        ...row,
        day: day(0),
        provider: "brave",
        outcome: "ok",
        calls: 90,
        cost_micros: 450_000,
        paid_cost_micros: 400_000,
        revenue_micros: 900_000,
      },
      { ...row, day: day(0), provider: "brave", outcome: "timeout", calls: 10 },
      {
        ...row,
        day: day(1),
        provider: "exa",
        outcome: "ok",
        calls: 1,
        cost_micros: 17_000,
        paid_cost_micros: 17_000,
        revenue_micros: 10_000,
      },
      { ...row, day: day(1), provider: "exa", outcome: "aborted", calls: 1 },
      { ...row, day: day(40), provider: "brave", outcome: "ok", calls: 5 },
    ]),
    JSON.stringify([
      {
        day: day(0),
        wallet_id: walletId,
        provider: "brave",
        calls: 12,
        cost_micros: 60_001,
        paid_calls: 2,
        paid_cost_micros: 10_000,
        abandoned_calls: 10,
        abandoned_cost_micros: 50_001,
      },
    ]),
  ]);
}

test("an operator reads the margin of every upstream and wallet as a table and as JSON", async () => {
  const environment = { PENNYBLACK_DIRECT_DATABASE_URL: db.ownerUrl };
  const none = await runAdmin(environment, "margin");
  assert.deepEqual([none.exitCode, none.stdout], [0, "No upstream calls in this period.\n"]);
  const walletId = randomUUIDv7();
  await seedMargin(walletId);
  const { exitCode, stdout } = await runAdmin(environment, "margin", "--days", "30");
  assert.equal(exitCode, 0);
  const lines = stdout.split("\n").map((line) => line.trim().replaceAll(/ +/g, " "));
  assert.deepEqual(lines.slice(0, 6), [
    "day upstream calls failed unpaid abandoned revenue cost unpaid cost margin failure reasons",
    `${day(0)} brave 100 10.0 % 10 10 0.90 0.45 0.05 0.45 timeout 10`,
    `${day(1)} exa 2 0.0 % 0 0 0.01 0.017 0.00 -0.007 aborted 1`,
    "total brave 100 10.0 % 10 10 0.90 0.45 0.05 0.45 timeout 10",
    "total exa 2 0.0 % 0 0 0.01 0.017 0.00 -0.007 aborted 1",
    "total all 102 9.9 % 10 10 0.91 0.467 0.05 0.443 timeout 10, aborted 1",
  ]);
  assert.deepEqual(lines.slice(7, 9), [
    "wallet calls unpaid abandoned revenue cost unpaid cost margin",
    `${walletId} 12 10 10 0.00 0.060001 0.050001 -0.060001`,
  ]);
  const json = JSON.parse((await runAdmin(environment, "margin", "--json")).stdout) as {
    rows: unknown[];
    wallets: unknown[];
  };
  assert.deepEqual(json.rows[1], {
    day: day(1),
    provider: "exa",
    calls: 2,
    unpaid_calls: 0,
    abandoned_calls: 0,
    failures: { aborted: 1 },
    cost: "0.017",
    unpaid_cost: "0.00",
    revenue: "0.01",
    margin: "-0.007",
  });
  assert.deepEqual(json.wallets, [
    {
      wallet_id: walletId,
      calls: 12,
      unpaid_calls: 10,
      abandoned_calls: 10,
      revenue: "0.00",
      cost: "0.060001",
      unpaid_cost: "0.050001",
      margin: "-0.060001",
    },
  ]);
});
