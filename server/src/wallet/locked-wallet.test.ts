import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { busy, isLockTimeout, type SendOptions } from "../db/settle-batch.ts";
import { priceMicros } from "../lib/money.ts";
import { expireHolds, holdBatch, sendCaptures, sendHolds, sendReleases } from "./statements.ts";
import { createLedger, type HoldRequest, type Ledger, ledgerConnections } from "./wallet.ts";

// Another session holds the lock of one wallet's row. Every other wallet must not notice.

interface Seed {
  walletId: string;
  keyId: string;
}

let database: TestDatabase;
let pool: Pool;
let ledger: Ledger;

before(async () => {
  database = await createTestDatabase();
});

beforeEach(() => {
  pool = createPool({
    url: database.ledgerUrl,
    name: "test",
    connections: ledgerConnections,
    isForSingleStatements: true,
    // Longer than the deadline of a hold or capture, so that one that waits for the locked wallet fails.
    lockTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    onIdleError: () => {},
  });
  ledger = createLedger(pool);
});

afterEach(() => pool.end());

after(() => database.drop());

const seed = (): Promise<Seed> => seedWallet(database.owner, { credit: 1_000n * priceMicros });

const request = ({ walletId, keyId }: Seed): HoldRequest => ({ searchId: randomUUIDv7(), walletId, keyId });

async function seedMany(count: number): Promise<Seed[]> {
  const seeds: Seed[] = [];
  for (let created = 0; created < count; created += 1) seeds.push(await seed());
  return seeds;
}

/** Runs `work` while the wallet's row is locked. `unlock` ends the lock earlier. */
async function whileLocked(walletId: string, work: (unlock: () => Promise<void>) => Promise<void>): Promise<void> {
  const blocker = await database.owner.connect();
  let isLocked = true;
  const unlock = async (): Promise<void> => {
    if (isLocked) await blocker.query("rollback");
    isLocked = false;
  };
  try {
    await blocker.query("begin");
    await blocker.query("set local idle_in_transaction_session_timeout = 0");
    await blocker.query("select from pb.wallets where id = $1 for no key update", [walletId]);
    await work(unlock);
  } finally {
    await unlock();
    blocker.release();
  }
}

test("holds of other wallets succeed immediately while one wallet is locked", async () => {
  const locked = await seed();
  const others = await seedMany(5);
  await whileLocked(locked.walletId, async (unlock) => {
    const blocked = [ledger.hold(request(locked)), ledger.hold(request(locked))];
    for (let round = 0; round < 3; round += 1) {
      const held = Promise.all(others.map((other) => ledger.hold(request(other))));
      // One more for the locked wallet in the same batch.
      blocked.push(ledger.hold(request(locked)));
      for (const { outcome } of await held) assert.equal(outcome, "held");
    }
    await unlock();
    for (const { outcome } of await Promise.all(blocked)) assert.equal(outcome, "held");
  });
});

test("captures and releases of other wallets succeed immediately while one wallet is locked", async () => {
  const locked = await seed();
  const others = await seedMany(6);
  const blocked = request(locked);
  const free = others.map(request);
  await Promise.all([blocked, ...free].map((item) => ledger.hold(item)));
  await whileLocked(locked.walletId, async (unlock) => {
    const capturing = ledger.capture(blocked);
    const settled = Promise.all([
      ...free.slice(0, 3).map((item) => ledger.capture(item)),
      ...free.slice(3).map((item) => ledger.release(item)),
    ]);
    assert.deepEqual(
      (await settled).map(({ state }) => state),
      ["captured", "captured", "captured", "released", "released", "released"],
    );
    await unlock();
    assert.equal((await capturing).state, "captured");
  });
});

test("a wallet that stays locked delays one statement of the other wallets, not each of them", async () => {
  const [locked, other] = (await seedMany(2)) as [Seed, Seed];
  const query = pool.query.bind(pool) as (statement: object) => Promise<unknown>;
  let delayed = 0;
  pool.query = (async (statement: { values: unknown[] }): Promise<unknown> => {
    try {
      return await query(statement);
    } catch (error) {
      if (isLockTimeout(error) && JSON.stringify(statement.values).includes(other.walletId)) delayed += 1;
      throw error;
    }
  }) as Pool["query"];
  await whileLocked(locked.walletId, async (unlock) => {
    const blocked: Promise<unknown>[] = [];
    for (let round = 0; round < 10; round += 1) {
      // The locked wallet first, so that both are sent in one statement.
      blocked.push(ledger.hold(request(locked)));
      assert.equal((await ledger.hold(request(other))).outcome, "held");
    }
    assert.equal(delayed, 1);
    await unlock();
    await Promise.all(blocked);
  });
});

test("the sweeper expires the holds of other wallets while one wallet is locked", async () => {
  const [locked, other] = (await seedMany(2)) as [Seed, Seed];
  await holdBatch(database.ledger, [request(locked), request(locked), request(other)]);
  await database.owner.query(
    `update pb.searches set expires_at = clock_timestamp() - interval '10 seconds',
       held_at = held_at - case when wallet_id = $1 then interval '1 second' else interval '0' end
     where wallet_id = any ($2)`,
    [locked.walletId, [locked.walletId, other.walletId]],
  );
  await whileLocked(locked.walletId, async (unlock) => {
    // The limit of one counts holds that can be expired, not those of the locked wallet, which are older.
    assert.equal((await expireHolds(database.owner, 1)).holds, 1);
    assert.equal(await readHeld(other), 0n);
    assert.equal(await readHeld(locked), 2n * priceMicros);
    await unlock();
  });
  assert.equal((await expireHolds(database.owner, 10)).holds, 2);
  assert.equal(await readHeld(locked), 0n);
});

const skip: SendOptions = { isResend: false, lockWait: "none" };
const outcomeOf = (result: { outcome: string } | typeof busy): string => (result === busy ? "busy" : result.outcome);
const stateOf = (result: { state: string } | typeof busy): string => (result === busy ? "busy" : result.state);

test("only items of locked wallets are busy: a missing wallet is not, and a batch of one is decided the same way", async () => {
  const [locked, free] = (await seedMany(2)) as [Seed, Seed];
  const missing = { walletId: randomUUIDv7(), keyId: randomUUIDv7() };
  const idempotency = { keyHmac: Buffer.alloc(32, 1), fingerprint: Buffer.alloc(32, 2) };
  const run = { name: "a run", maxMicros: 10n * priceMicros, ttlSeconds: 60 };
  await whileLocked(locked.walletId, async () => {
    const batch = [locked, missing, free, locked, free].map(request);
    assert.deepEqual((await sendHolds(database.ledger, batch, skip)).map(outcomeOf), [
      "busy",
      "api_key_invalid",
      "held",
      "busy",
      "held",
    ]);
    const slow = [locked, missing, free].map((seed) => ({ ...request(seed), idempotency, run, category: "news" }));
    const resent = { ...skip, isResend: true };
    for (const outcome of ["held", "held"]) {
      const outcomes = (await sendHolds(database.ledger, slow, resent)).map(outcomeOf);
      assert.deepEqual(outcomes, ["busy", "api_key_invalid", outcome], "sent again with the same ids");
    }
    for (const [seed, outcome] of [
      [locked, "busy"],
      [missing, "api_key_invalid"],
      [free, "held"],
    ] as const) {
      assert.deepEqual((await sendHolds(database.ledger, [request(seed)], skip)).map(outcomeOf), [outcome]);
    }
  });
  assert.equal(await readHeld(free), 4n * priceMicros);
  assert.equal(await readHeld(locked), 0n);
});

test("an item beside a locked wallet returns its own budgets", async () => {
  const [locked, free] = (await seedMany(2)) as [Seed, Seed];
  const run = (name: string) => ({ name, maxMicros: 5n * priceMicros, ttlSeconds: 60 });
  const items = [
    { ...request(free), run: run("first") },
    { ...request(locked), run: run("first") },
    { ...request(free), run: run("first") },
    { ...request(free), run: run("second") },
  ];
  await whileLocked(locked.walletId, async () => {
    const outcomes = await sendHolds(database.ledger, items, skip);
    const spent = outcomes.map((each) => (each === busy ? "busy" : each.budgets?.map((budget) => budget.spent)));
    assert.deepEqual(spent, [[0n], "busy", [priceMicros], [0n]]);
  });
});

test("captures and releases of locked wallets are busy and change nothing, in batches of any size", async () => {
  const [locked, free] = (await seedMany(2)) as [Seed, Seed];
  const missing = { walletId: randomUUIDv7(), keyId: randomUUIDv7() };
  for (const [send, end] of [
    [sendCaptures, "captured"],
    [sendReleases, "released"],
  ] as const) {
    const held = [locked, free, free, free].map(request);
    await holdBatch(database.ledger, held);
    const [ofLocked, single, ...batch] = held as [HoldRequest, HoldRequest, ...HoldRequest[]];
    const states = async (items: HoldRequest[]): Promise<string[]> =>
      (await send(database.ledger, items, skip)).map(stateOf);
    await whileLocked(locked.walletId, async () => {
      assert.deepEqual(await states([ofLocked]), ["busy"]);
      assert.deepEqual(await states([request(missing)]), ["unknown"]);
      assert.deepEqual(await states([single]), [end]);
      assert.deepEqual(await states([request(missing), ofLocked, ...batch]), ["unknown", "busy", end, end]);
    });
    assert.equal(await readHeld(locked), priceMicros);
    assert.deepEqual(await states([ofLocked]), [end]);
  }
  assert.equal(await readHeld(free), 0n);
});

test("a sweep reports how long a hold of a locked wallet has been overdue, and keeps the watermark behind it", async () => {
  const locked = await seed();
  const item = request(locked);
  await holdBatch(database.ledger, [item]);
  await database.owner.query(
    `update pb.searches set held_at = clock_timestamp() - interval '10 minutes',
       expires_at = clock_timestamp() - interval '9 minutes' where id = $1`,
    [item.searchId],
  );
  await database.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp() - interval '1 hour'");
  await whileLocked(locked.walletId, async () => {
    const { holds, skippedSeconds } = await expireHolds(database.owner, 10);
    assert.equal(holds, 0);
    assert.ok(skippedSeconds >= 540 && skippedSeconds < 600, `${skippedSeconds} s`);
  });
  const { rows } = await database.owner.query<{ isBehind: boolean }>(
    `select w.settled_before <= s.held_at as "isBehind" from pb.sweep_watermark w, pb.searches s where s.id = $1`,
    [item.searchId],
  );
  assert.deepEqual(rows, [{ isBehind: true }]);
  const swept = await expireHolds(database.owner, 10);
  assert.deepEqual(swept, { holds: 1, micros: priceMicros, skippedSeconds: 0 });
});

async function readHeld({ walletId }: Seed): Promise<bigint | undefined> {
  const { rows } = await database.owner.query<{ held: bigint }>(
    "select held_micros as held from pb.wallets where id = $1",
    [walletId],
  );
  return rows[0]?.held;
}
