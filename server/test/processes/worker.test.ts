import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { migrate } from "../../src/db/migrate.ts";
import { holdBatch } from "../../src/wallet/statements.ts";
import { reconcile } from "../../src/wallet/upkeep/reconcile.ts";
import { until } from "../support/assertions/until.ts";
import { closeAfter } from "../support/close-after.ts";
import { seedKey, seedWallet } from "../support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { TcpProxy } from "../support/services/tcp-proxy.ts";
import { addJob, startWorker } from "./worker-fixture.ts";

let db: TestDatabase;

before(async () => {
  db = await createTestDatabase();
});

after(() => db.drop());

/** Expired holds, `each` of them in each wallet. */
async function seedOverdueHolds(wallets: number, each: number): Promise<string[]> {
  const walletIds: string[] = [];
  for (let wallet = 0; wallet < wallets; wallet += 1) {
    const { walletId, keyId } = await seedWallet(db.owner, { credit: 10_000n * BigInt(each) });
    walletIds.push(walletId);
    const items = Array.from({ length: each }, () => ({ searchId: randomUUIDv7(), walletId, keyId }));
    const outcomes = await holdBatch(db.owner, items);
    assert.ok(outcomes.every(({ outcome }) => outcome === "held"));
  }
  await db.owner.query(
    "update pb.searches set expires_at = clock_timestamp() - interval '1 second' where wallet_id = any ($1)",
    [walletIds],
  );
  return walletIds;
}

async function heldMicros(walletIds: string[]): Promise<bigint> {
  const { rows } = await db.owner.query<{ held: bigint }>(
    "select sum(held_micros)::bigint as held from pb.wallets where id = any ($1)",
    [walletIds],
  );
  return rows[0]?.held ?? 0n;
}

/** Infinity if none is scheduled. A running job does not count. */
async function secondsToSweep(): Promise<number> {
  const { rows } = await db.owner.query<{ seconds: number }>(
    `select extract(epoch from run_at - now())::float8 as seconds from graphile_worker.jobs
     where key = 'sweep' and locked_at is null and run_at > now()`,
  );
  return rows[0]?.seconds ?? Number.POSITIVE_INFINITY;
}

test("a worker releases expired holds, and exits with 0 on SIGTERM", async () => {
  const worker = await startWorker(db);
  const walletIds = await seedOverdueHolds(1, 3);
  await until("the holds are released", async () => (await heldMicros(walletIds)) === 0n);
  const { rows } = await db.owner.query("select distinct state from pb.searches where wallet_id = any ($1)", [
    walletIds,
  ]);
  assert.deepEqual(rows, [{ state: "expired" }]);
  await until("the sweep is counted", async () => (await worker.metric("pennyblack_expired_holds_total")) === 3);
  await until("the next sweep is due in seconds", async () => (await secondsToSweep()) <= 6);
  assert.equal(await worker.stop(), 0);
  assert.match(worker.logged(), /"msg":"stopped"/);
});

test("two workers that start at the same time on a new database do no work twice", async () => {
  await db.owner.query("drop schema graphile_worker cascade");
  await migrate(db.ownerUrl, () => undefined);
  const walletIds = await seedOverdueHolds(5, 40);
  const pair = await Promise.all([startWorker(db), startWorker(db)]);
  await until("the holds are released", async () => (await heldMicros(walletIds)) === 0n);
  const swept = async (): Promise<number> => {
    const counts = await Promise.all(pair.map((worker) => worker.metric("pennyblack_expired_holds_total")));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  await until("all sweeps are counted", async () => (await swept()) >= 200);
  assert.equal(await swept(), 200);
  assert.ok((await reconcile(db.owner)).isClean);
  const { rows } = await db.owner.query<{ waiting: bigint }>(
    "select count(*) as waiting from graphile_worker.jobs where task_identifier = 'sweep' and key is not null",
  );
  assert.ok((rows[0]?.waiting ?? 0n) <= 1n);
  assert.deepEqual(await Promise.all(pair.map((worker) => worker.stop())), [0, 0]);
});

test("a worker that starts while another transaction has locked a job waits for it", async () => {
  await addJob(db, "sweep");
  const client = await db.owner.connect();
  await client.query("begin; set local idle_in_transaction_session_timeout = 0");
  const { rows } = await client.query<{ pid: number }>(
    "select pg_backend_pid() as pid from graphile_worker._private_jobs where key = 'sweep' for update",
  );
  try {
    const starting = startWorker(db);
    await until("the worker has waited for two seconds", async () => {
      // Fails if the worker does.
      await Promise.race([starting, wait(0)]);
      const { rowCount } = await db.owner.query(
        `select from pg_locks
         where waitstart < clock_timestamp() - interval '2 seconds' and $1::integer = any (pg_blocking_pids(pid))`,
        [rows[0]?.pid],
      );
      return rowCount === 1;
    });
    await client.query("rollback");
    assert.equal(await (await starting).stop(), 0);
  } finally {
    // Also ends the transaction.
    client.release(true);
  }
});

test("a worker that starts waits for a database that accepts its first connections late", async (t) => {
  const { hostname, port } = new URL(db.workerUrl);
  const proxy = closeAfter(new TcpProxy({ host: hostname, port: Number(port) }), t);
  await proxy.listen();
  proxy.pause();
  const starting = startWorker(db, { PENNYBLACK_WORKER_DATABASE_URL: proxy.through(db.workerUrl) });
  // The first attempt, the reports of clock and secrets, and the next attempt.
  await until("the worker tries again", async () => {
    await Promise.race([starting, wait(0)]);
    return proxy.connections > 3;
  });
  proxy.resume();
  assert.equal(await (await starting).stop(), 0);
});

test("an error that nothing handles ends a worker, and is logged without the properties of the error", async () => {
  const crash = `process.on("SIGUSR2", () => { throw Object.assign(new Error("planted"), { input: process.env.TEST_INPUT }); });`;
  const preload = `--import=data:text/javascript,${encodeURIComponent(crash)}`;
  const worker = await startWorker(db, { NODE_OPTIONS: preload, TEST_INPUT: "a query" });
  const exited = once(worker.process, "close");
  worker.process.kill("SIGUSR2");
  assert.deepEqual(await exited, [1, null]);
  assert.match(worker.logged(), /"level":60.*planted.*"msg":"worker failed"/);
  assert.doesNotMatch(worker.logged(), /a query|Node\.js v/);
});

test("sweeping continues after a worker was killed during a sweep", async () => {
  await addJob(db, "sweep");
  // The state after kill -9: the job stays locked for hours.
  const { rowCount } = await db.owner.query(
    "update graphile_worker._private_jobs set locked_at = now(), locked_by = 'killed' where key = 'sweep'",
  );
  assert.equal(rowCount, 1);
  const walletIds = await seedOverdueHolds(1, 1);
  const worker = await startWorker(db);
  await until("the hold is released", async () => (await heldMicros(walletIds)) === 0n);
  await worker.stop();
});

test("missing partitions are created, fourteen days ahead", async () => {
  const missing = await db.owner.query<{ name: string }>(
    `select 'pb.' || parent || '_' || to_char(pb.utc_day(clock_timestamp()) + ahead, 'YYYYMMDD') as name
     from unnest(array['searches', 'transfers']) parent, unnest(array[3, 13, 14]) ahead`,
  );
  for (const { name } of missing.rows) await db.owner.query(`drop table ${name}`);
  const worker = await startWorker(db);
  await until("the days are counted", async () => (await worker.metric("pennyblack_partition_days_ahead")) === 14);
  for (const { name } of missing.rows) {
    const { rows } = await db.owner.query("select to_regclass($1) is not null as exists", [name]);
    assert.deepEqual(rows, [{ exists: true }], name);
  }
  await worker.stop();
});

test("only expired idempotency claims and runs are pruned", async () => {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 100_000n });
  const items = ["old", "young"].map((name) => ({
    searchId: randomUUIDv7(),
    walletId,
    keyId,
    idempotency: { keyHmac: randomBytes(32), fingerprint: randomBytes(32) },
    run: { name, maxMicros: 100_000n, ttlSeconds: 60 },
  }));
  const testKey = await seedKey(db.owner, walletId, { mode: "test" });
  await holdBatch(db.owner, [
    ...items,
    ...items.map(({ run }) => ({ searchId: randomUUIDv7(), walletId, keyId: testKey, run })),
  ]);
  const [old] = items;
  await db.owner.query("update pb.idempotency set claimed_at = claimed_at - interval '24 hours' where search_id = $1", [
    old?.searchId,
  ]);
  await db.owner.query(
    "update pb.budget_windows set resets_at = resets_at - case subject when 'old' then 62 else 59 end * interval '1 minute'",
  );
  const worker = await startWorker(db);
  await addJob(db, "prune");
  await until("rows are pruned", async () => worker.logged().includes("pruned expired rows"));
  const claims = await db.owner.query("select search_id from pb.idempotency where wallet_id = $1", [walletId]);
  assert.deepEqual(claims.rows, [{ search_id: items[1]?.searchId }]);
  const runs = await db.owner.query(
    "select mode, subject as name from pb.budget_windows where wallet_id = $1 order by mode",
    [walletId],
  );
  assert.deepEqual(runs.rows, [
    { mode: "live", name: "young" },
    { mode: "test", name: "young" },
  ]);
  await worker.stop();
});

test("ledger differences are logged as an error and counted in the metrics", async () => {
  const { walletId } = await seedWallet(db.owner, { credit: 50_000n });
  await db.owner.query("update pb.wallets set debited_micros = 10000 where id = $1", [walletId]);
  const worker = await startWorker(db);
  await addJob(db, "reconcile");
  await until("it is counted", async () => (await worker.metric("pennyblack_reconciliation_differences")) > 0);
  await until("it is logged", async () => worker.logged().includes("reconciliation found differences"));
  assert.match(worker.logged(), new RegExp(`"level":50.*${walletId}`));
  await worker.stop();
});

test("a worker refuses to run as the owner of the ledger", async () => {
  const asOwner = startWorker(db, { PENNYBLACK_WORKER_DATABASE_URL: db.ownerUrl });
  await assert.rejects(
    asOwner,
    /PENNYBLACK_WORKER_DATABASE_URL must not connect as this role: pennyblack_owner owns the ledger's schema\./,
  );
});
