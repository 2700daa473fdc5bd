import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { inTransaction } from "../../src/db/in-transaction.ts";
import type { Queryable } from "../../src/db/pool.ts";
import { formatUsd, priceMicros } from "../../src/lib/money.ts";
import { captureBatch, holdBatch, releaseBatch, topUpBatch } from "../../src/wallet/statements.ts";
import { deleteOldEvents } from "../../src/webhooks/webhooks.ts";
import { createDatabase } from "../fixture.ts";
import { pluck } from "../support/assertions/pluck.ts";
import { seedKey, seedKeyLimits, seedWallet, windowOf } from "../support/data/seed-wallet.ts";

const db = await createDatabase();

interface Event {
  type: string;
  data: Record<string, unknown>;
  isLate: boolean;
}

async function eventsOf(walletId: string): Promise<Event[]> {
  const { rows } = await db.owner.query<Event>(
    `select type, data, due_at > created_at as "isLate" from pb.events where wallet_id = $1 order by created_at, id`,
    [walletId],
  );
  return rows;
}

/** Without the events of creating a wallet. */
async function alertsOf(walletId: string): Promise<Event[]> {
  return (await eventsOf(walletId)).filter(({ type }) => type !== "key.created" && type !== "top_up.succeeded");
}

const typesOf = async (walletId: string): Promise<string[]> => (await alertsOf(walletId)).map(({ type }) => type);

interface Seed {
  walletId: string;
  keyId: string;
}

async function search(ledger: Queryable, seed: Seed, count = 1): Promise<void> {
  const items = Array.from({ length: count }, () => ({ searchId: randomUUIDv7(), ...seed }));
  const held = await holdBatch(ledger, items);
  assert.ok(held.every(({ outcome }) => outcome === "held"));
  await captureBatch(ledger, items);
}

const topUp = (walletId: string, amount: bigint, paymentId: string = randomUUIDv7()) =>
  topUpBatch(db.owner, "top_up", [{ paymentId, walletId, amount }]);

const setThreshold = (walletId: string, micros: bigint | null) =>
  db.owner.query("update pb.wallets set low_balance_micros = $2 where id = $1", [walletId, micros]);

/** Moves the events and throttles of a wallet or budget one hour into the past. */
async function ageByAnHour(subjectId: string, walletId = subjectId): Promise<void> {
  await db.owner.query(
    "update pb.event_throttles set emitted_at = emitted_at - interval '1 hour' where subject_id = $1",
    [subjectId],
  );
  await db.owner.query(
    `update pb.events set created_at = created_at - interval '1 hour', due_at = due_at - interval '1 hour'
     where wallet_id = $1 and dispatched_at is null`,
    [walletId],
  );
}

const dispatch = () => db.owner.query("select pb.dispatch_events(1000, false)");

test("a balance that falls below the threshold emits one event, and below the price another", async () => {
  const seed = await seedWallet(db.owner, { credit: 5n * priceMicros });
  await setThreshold(seed.walletId, 3n * priceMicros);
  await search(db.ledger, seed, 2);
  assert.deepEqual(await typesOf(seed.walletId), [], "0.03 is not below 0.03");
  await search(db.ledger, seed);
  await search(db.ledger, seed);
  const wallet_id = seed.walletId;
  const low = { wallet_id, currency: "usd", balance: "0.02", low_balance: "0.03" };
  assert.deepEqual(await alertsOf(seed.walletId), [{ type: "wallet.low_balance", data: low, isLate: false }]);
  await search(db.ledger, seed);
  const depleted = { wallet_id, currency: "usd", balance: "0.00", price: "0.01" };
  assert.deepEqual((await alertsOf(seed.walletId))[1], { type: "wallet.depleted", data: depleted, isLate: false });
});

test("a released hold emits no event", async () => {
  const seed = await seedWallet(db.owner, { credit: priceMicros });
  await setThreshold(seed.walletId, priceMicros);
  const item = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(db.ledger, [item]);
  await releaseBatch(db.ledger, [item]);
  assert.deepEqual(await typesOf(seed.walletId), []);
});

test("one batch that crosses both thresholds emits both events with the final balance", async () => {
  const seed = await seedWallet(db.owner, { credit: 4n * priceMicros });
  await setThreshold(seed.walletId, 2n * priceMicros);
  await search(db.ledger, seed, 4);
  const events = await alertsOf(seed.walletId);
  assert.deepEqual(events.map(({ type, data }) => `${type} ${String(data["balance"])}`).toSorted(), [
    "wallet.depleted 0.00",
    "wallet.low_balance 0.00",
  ]);
});

test("a threshold set above the balance emits an event, and raising it again does not", async () => {
  const seed = await seedWallet(db.owner, { credit: 4n * priceMicros });
  await setThreshold(seed.walletId, 5n * priceMicros);
  assert.deepEqual(await typesOf(seed.walletId), ["wallet.low_balance"]);
  await setThreshold(seed.walletId, 6n * priceMicros);
  await search(db.ledger, seed);
  assert.deepEqual(await typesOf(seed.walletId), ["wallet.low_balance"]);
});

test("a balance that oscillates around its threshold emits at most one event per hour", async () => {
  const seed = await seedWallet(db.owner, { credit: 3n * priceMicros });
  await setThreshold(seed.walletId, 3n * priceMicros);
  const swing = async (): Promise<void> => {
    await search(db.ledger, seed);
    await topUp(seed.walletId, priceMicros);
  };
  for (let times = 0; times < 100; times += 1) await swing();
  const events = await alertsOf(seed.walletId);
  assert.deepEqual(
    pluck(events, "type", "isLate"),
    [
      ["wallet.low_balance", false],
      ["wallet.low_balance", true],
    ],
    "one immediately, one delayed by an hour",
  );
  await ageByAnHour(seed.walletId);
  for (let times = 0; times < 10; times += 1) await swing();
  assert.equal((await alertsOf(seed.walletId)).length, 3);
});

test("a delayed event has the balance at dispatch, and is dropped if the balance has recovered", async () => {
  const [better, worse] = await Promise.all([
    seedWallet(db.owner, { credit: 5n * priceMicros }),
    seedWallet(db.owner, { credit: 5n * priceMicros }),
  ]);
  for (const seed of [better, worse]) {
    await setThreshold(seed.walletId, 5n * priceMicros);
    await search(db.ledger, seed);
    await topUp(seed.walletId, priceMicros);
    await search(db.ledger, seed);
    await dispatch();
    assert.equal((await alertsOf(seed.walletId)).length, 2, "the second is delayed");
  }
  await topUp(better.walletId, priceMicros);
  await search(db.ledger, worse);
  for (const seed of [better, worse]) await ageByAnHour(seed.walletId);
  await dispatch();
  assert.deepEqual(
    (await alertsOf(better.walletId)).map(({ data }) => data["balance"]),
    ["0.04"],
  );
  assert.deepEqual(
    (await alertsOf(worse.walletId)).map(({ data }) => data["balance"]),
    ["0.04", "0.03"],
  );
});

test("an event exists if and only if its transaction commits", async () => {
  const seed = await seedWallet(db.owner, { credit: 2n * priceMicros });
  await setThreshold(seed.walletId, 2n * priceMicros);
  const before = (await eventsOf(seed.walletId)).length;
  const causes = async (owner: Queryable): Promise<void> => {
    await search(owner, seed, 2);
    await seedKey(owner, seed.walletId);
    await owner.query("select pb.revoke_key($1, $2)", [seed.walletId, seed.keyId]);
    await topUpBatch(owner, "top_up", [
      { paymentId: `both ways ${seed.walletId}`, walletId: seed.walletId, amount: 1n },
    ]);
    await owner.query("select pb.emit_event($1, 'top_up.failed', '{}')", [seed.walletId]);
  };
  const rolledBack = inTransaction(db.owner, async (owner) => {
    await causes(owner);
    const { rows } = await owner.query<{ seen: bigint }>(
      "select count(*) as seen from pb.events where wallet_id = $1",
      [seed.walletId],
    );
    assert.equal(rows[0]?.seen, BigInt(before + 6), "they were written");
    throw new Error("planted");
  });
  await assert.rejects(rolledBack, /planted/);
  assert.equal((await eventsOf(seed.walletId)).length, before);
  await inTransaction(db.owner, causes);
  const types = (await eventsOf(seed.walletId)).slice(before).map(({ type }) => type);
  assert.deepEqual(types.toSorted(), [
    "key.created",
    "key.revoked",
    "top_up.failed",
    "top_up.succeeded",
    "wallet.depleted",
    "wallet.low_balance",
  ]);
});

test("a payment reported several times emits one event", async () => {
  const { walletId } = await seedWallet(db.owner);
  await Promise.all(Array.from({ length: 5 }, () => topUp(walletId, 5_000_000n, `five ${walletId}`)));
  const events = (await eventsOf(walletId)).filter(({ type }) => type === "top_up.succeeded");
  assert.equal(events.length, 1);
  const { amount, balance, payment_id } = events[0]?.data ?? {};
  assert.deepEqual(
    { amount, balance, payment_id },
    { amount: "5.00", balance: "5.00", payment_id: `five ${walletId}` },
  );
});

test("creating, revoking and rotating a key emit one event each", async () => {
  const { walletId, keyId } = await seedWallet(db.owner);
  await db.owner.query("select pb.revoke_key($1, $2)", [walletId, keyId]);
  await db.owner.query("select pb.revoke_key($1, $2)", [walletId, keyId]);
  const about = { wallet_id: walletId, key: { id: keyId, name: "A key", mode: "live", start: "pb_" } };
  assert.deepEqual(await eventsOf(walletId), [
    { type: "key.created", data: about, isLate: false },
    { type: "key.revoked", data: about, isLate: false },
  ]);
  await db.owner.query(
    `insert into pb.keys (id, wallet_id, mode, name, start, pepper_version, digest, scopes, rotated_from)
     select gen_random_uuid(), wallet_id, mode, name, start, 1, sha256(digest), scopes, id from pb.keys where id = $1`,
    [keyId],
  );
  const rotated = (await eventsOf(walletId)).filter(({ type }) => type === "key.rotated");
  assert.equal(rotated.length, 1);
  assert.equal(rotated[0]?.data["rotated_from"], keyId);
});

test("a key's budget that does not cover another search emits one event per hour", async () => {
  const { walletId } = await seedWallet(db.owner, { credit: 100n * priceMicros });
  for (const period of ["total", "day", "month"] as const) {
    const limitsId = await seedKeyLimits(db.owner, walletId, { [period]: 25_000n });
    const keyId = await seedKey(db.owner, walletId, { limitsId });
    const ofBudget = async (): Promise<Event[]> =>
      (await alertsOf(walletId)).filter(({ data }) => data["period"] === period);
    await search(db.ledger, { walletId, keyId });
    assert.deepEqual(await ofBudget(), []);
    await search(db.ledger, { walletId, keyId });
    const [event, ...others] = await ofBudget();
    assert.deepEqual(others, []);
    assert.equal(event?.type, "key.budget_spent");
    const { limit, spent, resets_at, key, ...rest } = event?.data ?? {};
    assert.deepEqual([rest["period"], limit, spent], [period, "0.025", "0.02"]);
    assert.deepEqual(key, { id: keyId, name: "A key", mode: "live", start: "pb_" });
    assert.match(String(resets_at), period === "total" ? /^null$/ : /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);

    // Released holds bring the budget below its limit again.
    for (let times = 0; times < 5; times += 1) {
      await db.owner.query(`update pb.budget_windows set spent_micros = 10000 where ${windowOf(limitsId, period)}`);
      await search(db.ledger, { walletId, keyId });
    }
    assert.deepEqual(pluck(await ofBudget(), "isLate"), [false, true]);
  }
});

test("a spent budget of a test key emits no event", async () => {
  const { walletId } = await seedWallet(db.owner);
  const limitsId = await seedKeyLimits(db.owner, walletId, { total: 10_000n }, "test");
  await search(db.ledger, { walletId, keyId: await seedKey(db.owner, walletId, { mode: "test", limitsId }) });
  const { rows } = await db.owner.query(
    `select spent_micros as spent from pb.budget_windows where ${windowOf(limitsId, "total")}`,
  );
  assert.deepEqual(rows, [{ spent: 10_000n }]);
  assert.deepEqual(await alertsOf(walletId), []);
});

test("amounts in events have the format of the API", async () => {
  for (const micros of [0n, 1n, 10n, 10_000n, 999_999n, 1_000_000n, 1_234_500n, 5_000_000n, 123_456_789_010n]) {
    const { rows } = await db.owner.query<{ usd: string }>("select pb.usd($1) as usd", [micros]);
    assert.equal(rows[0]?.usd, formatUsd(micros));
  }
});

test("events older than 30 days are deleted", async () => {
  const { walletId } = await seedWallet(db.owner);
  await db.owner.query(
    `insert into pb.events (id, wallet_id, type, data, created_at, due_at)
     select (left(pb.uuid_floor(clock_timestamp() - age)::text, 14) || '7000-8000-000000000000')::uuid,
       $1, 'key.created', '{}', clock_timestamp() - age, clock_timestamp() - age
     from unnest(array[interval '29 days', interval '31 days', interval '60 days']) age`,
    [walletId],
  );
  assert.equal(await deleteOldEvents(db.owner, 1), 1);
  assert.equal(await deleteOldEvents(db.owner, 100), 1);
  assert.equal((await eventsOf(walletId)).length, 2);
});
