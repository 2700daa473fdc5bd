import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import pg from "pg";
import { seedKey, seedKeyLimits, seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { priceMicros } from "../lib/money.ts";
import { captureBatch, type HoldRequest, holdBatch, releaseBatch } from "./statements.ts";

// The plans of the ledger's functions, as auto_explain reports them. A connection keeps its plans while a table grows, so one
// that is made for an empty table must also be right for a large one.

const db = await createTestDatabase();
const seed = await seedWallet(db.owner, { credit: 1_000n * priceMicros });
const endUser = { amount: 900n * priceMicros, period: "day" } as const;
const limits = { total: endUser.amount, day: endUser.amount, month: endUser.amount, endUser };
const limitsId = await seedKeyLimits(db.owner, seed.walletId, limits);
const limited = { walletId: seed.walletId, keyId: await seedKey(db.owner, seed.walletId, { limitsId }) };

after(() => db.drop());

/** Runs on a new connection, which has no plans yet, and returns the plans of all statements in the ledger's functions. */
async function explain(work: (client: pg.Client) => Promise<void>): Promise<string[]> {
  const client = new pg.Client({ connectionString: db.superuserUrl });
  const plans: string[] = [];
  client.on("notice", ({ message = "" }) => plans.push(message));
  await client.connect();
  try {
    await client.query(
      `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
       set client_min_messages = log`,
    );
    await work(client);
  } finally {
    await client.end();
  }
  return plans;
}

/** The scans of tables in a plan, each with the lines below it. Tables with a single row may be read whole. */
function scansOf(plan: string): string[] {
  return plan
    .split(/(?=^ *->|^\w)/m)
    .filter((node) => /(?:Scan|Materialize)\b/.test(node) && !/(?:Function|Subquery|CTE|Values) Scan/.test(node))
    .filter((node) => !/ on (?:timelines|ledger_watermark|retention)\b/.test(node));
}

const itemsOf = (each: (byte: number) => Partial<HoldRequest>): HoldRequest[] =>
  [1, 2].map((byte) => ({ searchId: randomUUIDv7(), ...seed, ...each(byte) }));

/** Batches that take every path of pb.hold. The claims are new in each database. */
const batches = (first: number): HoldRequest[][] => [
  itemsOf(() => ({})).slice(0, 1),
  itemsOf(() => ({})),
  itemsOf((byte) => ({
    idempotency: {
      keyHmac: Buffer.alloc(32, first + byte),
      fingerprint: Buffer.alloc(32, byte),
    },
  })),
  itemsOf((byte) => ({
    ...limited,
    endUser: `user ${byte}`,
    run: { name: `run ${byte}`, maxMicros: 900n * priceMicros, ttlSeconds: 60 },
  })),
];

/** A look-up by the whole key, or the update of a row that was looked up. A foreign key's index also starts with the id. */
const lookUps = [
  /using (?:(?:wallets|keys|budgets|budget_windows|searches_\d+)_pkey|keys_id_wallet_id_key|budgets_by_mode) on [^]*Index Cond: .*\(id = /,
  /using key_limit_budgets_pkey on [^]*Index Cond: \(limits_id = /,
  /using idempotency_pkey on [^]*Index Cond: \(\(wallet_id = [^]* AND \(key_hmac = /,
  /using one_window_per_subject on [^]*Index Cond: \(\(wallet_id = [^]* AND \(mode = [^]*budget_id (?:=|IS NULL)[^]*\(subject = /,
  /Tid Scan on idempotency/,
];

async function assertLookUps(first: number): Promise<void> {
  const plans = await explain(async (client) => {
    for (const batch of batches(first)) {
      for (const { outcome } of await holdBatch(client, batch, false)) assert.equal(outcome, "held");
      const [captured, ...released] = batch as [HoldRequest, ...HoldRequest[]];
      const [settlement] = await captureBatch(client, [{ ...captured, answer: Buffer.from("an answer") }]);
      assert.equal(settlement?.state, "captured");
      for (const { state } of await releaseBatch(client, released)) assert.equal(state, "released");
    }
  });
  const ownPlans = plans.filter((plan) => !plan.includes("FOR KEY SHARE OF x")); // without foreign keys
  const scans = ownPlans.flatMap((plan) => scansOf(plan).map((scan) => ({ scan, plan })));
  assert.ok(scans.length > 40, `${scans.length} scans`);
  for (const { scan, plan } of scans)
    assert.ok(
      lookUps.some((lookUp) => lookUp.test(scan)),
      `${scan}\n\nin\n\n${plan}`,
    );
  for (const lookUp of lookUps)
    assert.ok(
      scans.some(({ scan }) => lookUp.test(scan)),
      String(lookUp),
    );
}

test("without statistics, hold, capture and release look every row up by its key", async () => {
  await assertLookUps(0);
});

test("with statistics of a young database, hold, capture and release look every row up by its key", async () => {
  await db.owner.query("vacuum analyze");
  await assertLookUps(10);
});

test("with statistics of a large database, hold, capture and release look every row up by its key", async () => {
  await db.owner.query(
    `insert into pb.wallets (id, name) select gen_random_uuid(), 'one of many' from generate_series(1, 5000);
     insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes)
       select gen_random_uuid(), id, 'live', 'A key', 'pb_', 1, sha256(id::text::bytea), '{search}' from pb.wallets
       where name = 'one of many';
     insert into pb.budget_windows (wallet_id, mode, subject, limit_micros, spent_micros, opened_at, resets_at)
       select id, 'live'::pb.key_mode, 'a run', 0, 0, now(), now() from pb.wallets where name = 'one of many'
       union all select '${seed.walletId}', 'live'::pb.key_mode, 'a run ' || n, 0, 0, now(), now() from generate_series(1, 5000) n;
     insert into pb.idempotency (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at)
       select '${seed.walletId}', 'live', sha256(n::text::bytea), sha256(''), gen_random_uuid(), now()
       from generate_series(1, 5000) n`,
  );
  await db.owner.query("vacuum analyze");
  await assertLookUps(20);
});

// In a small table, PostgreSQL 17 and newer may search for the id in such an index, which reads all of it.
test("no index of a table that hold reads has the id after another column", async () => {
  const { rows } = await db.owner.query<{ index: string }>(
    `select i.indexrelid::regclass::text as index from pg_index i
     join pg_attribute a on a.attrelid = i.indrelid and a.attname = 'id' and a.attnum = any (i.indkey[1:])
     where i.indrelid = any ('{pb.wallets,pb.keys,pb.key_limits,pb.budgets,pb.budget_windows}'::regclass[])
       and i.indkey[0] <> a.attnum and i.indpred is null`,
  );
  assert.deepEqual(rows, []);
});

test("hold and release change wallets and windows without a new index entry", async () => {
  const client = await db.owner.connect();
  try {
    await client.query("begin");
    for (const [item] of [batches(30), batches(30)].map((each) => each.at(-1) ?? [])) {
      assert.ok(item);
      assert.equal((await holdBatch(client, [item], false))[0]?.outcome, "held");
      assert.equal((await releaseBatch(client, [item]))[0]?.state, "released");
    }
    const { rows } = await client.query<{ relname: string; updates: number; isHot: boolean }>(
      `select relname, n_tup_upd::int as updates, n_tup_upd = n_tup_hot_upd as "isHot"
       from pg_stat_xact_user_tables where relname in ('wallets', 'budget_windows') order by relname`,
    );
    // Four budgets and a run: the first hold may open windows, and each release and the second hold change all of them.
    assert.deepEqual(
      rows.map(({ relname, updates, isHot }) => [relname, isHot && updates >= 3]),
      [
        ["budget_windows", true],
        ["wallets", true],
      ],
    );
    await client.query("rollback");
  } finally {
    client.release();
  }
});

test("ended windows are found without reading the others", async () => {
  const plans = await explain(async (client) => {
    await client.query("select pb.delete_ended_windows(1000)");
  });
  assert.match(plans.join("\n"), /Index Scan using windows_by_end on budget_windows/);
});
