import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { readLedger } from "../../test/support/assertions/read-ledger.ts";
import { seedKey, seedKeyLimits, seedWallet } from "../../test/support/data/seed-wallet.ts";
import { shiftCalendar } from "../../test/support/data/shift-calendar.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { createPool, type Pool, type Queryable } from "../db/pool.ts";
import { isFinal } from "../db/settle-batch.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import {
  captureBatch,
  expireHolds,
  type HoldRequest,
  holdBatch,
  refundBatch,
  releaseBatch,
  topUpBatch,
} from "./statements.ts";

let database: TestDatabase;
let manyConnections: Pool;
const connections = 20;

before(async () => {
  database = await createTestDatabase();
  // All of them wait for the same wallet, which takes long on a busy machine.
  const timeouts = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 };
  manyConnections = createPool({
    url: database.ledgerUrl,
    name: "test",
    connections,
    ...timeouts,
    onIdleError: () => {},
  });
});

after(async () => {
  await manyConnections.end();
  await database.drop();
});

const requests = (count: number, seed: { walletId: string; keyId: string }): HoldRequest[] =>
  Array.from({ length: count }, () => ({ searchId: randomUUIDv7(), ...seed }));

/** Runs one job per connection at a time: on a slow machine, waiting for a connection would time out after 2 s. */
async function runConcurrently<Result>(jobs: (() => Promise<Result>)[]): Promise<Result[]> {
  const results: Result[] = [];
  const queue = jobs.entries();
  const worker = async (): Promise<void> => {
    for (const [index, job] of queue) results[index] = await job();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return results;
}

async function readWallet(walletId: string): Promise<{ credited: Micros; debited: Micros; held: Micros }> {
  const { rows } = await database.owner.query<{ credited: Micros; debited: Micros; held: Micros }>(
    `select credited_micros as credited, debited_micros as debited, held_micros as held from pb.wallets where id = $1`,
    [walletId],
  );
  assert.ok(rows[0]);
  return rows[0];
}

test("the database and the code agree on the price", async () => {
  const { rows } = await database.owner.query<{ price: Micros }>("select pb.price_micros() as price");
  assert.equal(rows[0]?.price, priceMicros);
});

test("200 concurrent searches cannot overspend a wallet with money for 100", async () => {
  const seed = await seedWallet(database.owner, { credit: 100n * priceMicros });
  const outcomes = await runConcurrently(requests(200, seed).map((item) => () => holdBatch(manyConnections, [item])));
  assert.equal(outcomes.flat().filter(({ outcome }) => outcome === "held").length, 100);
  assert.equal(outcomes.flat().filter(({ outcome }) => outcome === "balance_reserved").length, 100);
  assert.deepEqual(await readWallet(seed.walletId), { credited: 1_000_000n, debited: 0n, held: 1_000_000n });
});

test("concurrent batches cannot overspend a wallet", async () => {
  const seed = await seedWallet(database.owner, { credit: 100n * priceMicros });
  const batches = Array.from({ length: 20 }, () => requests(15, seed));
  const outcomes = await runConcurrently(batches.map((items) => () => holdBatch(manyConnections, items)));
  assert.equal(outcomes.flat().filter(({ outcome }) => outcome === "held").length, 100);
  assert.deepEqual(await readWallet(seed.walletId), { credited: 1_000_000n, debited: 0n, held: 1_000_000n });
});

test("concurrent capture, release and sweep settle a search exactly once", async () => {
  const seed = await seedWallet(database.owner, { credit: 100n * priceMicros });
  const items = requests(60, seed);
  await holdBatch(database.ledger, items);
  const half = items.filter((_, index) => index % 2 === 0).map(({ searchId }) => searchId);
  await database.owner.query(
    "update pb.searches set expires_at = clock_timestamp() - interval '1 second' where id = any ($1)",
    [half],
  );
  const settled = await runConcurrently(
    items.flatMap((item) => [
      () => captureBatch(manyConnections, [item]),
      () => releaseBatch(manyConnections, [item]),
      () => captureBatch(manyConnections, [item, item]),
      () => expireHolds(database.owner, 5).then(() => []),
    ]),
  );
  assert.ok(settled.flat().every(({ state }) => state !== "pending" && state !== "unknown"));
  const { rows } = await database.owner.query<{ captured: bigint; overdue: bigint; charges: bigint }>(
    `select count(*) filter (where s.state = 'captured') as captured,
       count(*) filter (where s.state = 'captured' and s.id = any ($2)) as overdue, count(t.id) as charges
     from pb.searches s left join pb.transfers t on t.id = s.id where s.wallet_id = $1`,
    [seed.walletId, half],
  );
  const { captured = 0n, overdue, charges } = rows[0] ?? {};
  assert.equal(overdue, 0n, "an expired hold was charged");
  assert.equal(charges, captured);
  assert.deepEqual(await readWallet(seed.walletId), {
    credited: 1_000_000n,
    debited: captured * priceMicros,
    held: 0n,
  });
});

test("an existing id in a batch marked as new rejects the whole batch", async () => {
  const seed = await seedWallet(database.owner, { credit: 100_000n });
  const [known, other] = requests(2, seed);
  assert.ok(known && other);
  await holdBatch(database.ledger, [known], false);
  await assert.rejects(holdBatch(database.ledger, [other, known], false), isFinal);
  assert.equal((await readWallet(seed.walletId)).held, priceMicros, "only the first hold");
  const outcomes = await holdBatch(database.ledger, [other, known], true);
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ["held", "held"],
  );
  assert.equal((await readWallet(seed.walletId)).held, 2n * priceMicros);
});

test("the thorough sweep expires a hold that is behind the sweeper's watermark", async () => {
  const seed = await seedWallet(database.owner, { credit: 100_000n });
  const [request] = requests(1, seed);
  assert.ok(request);
  await holdBatch(database.ledger, [request]);
  await expireHolds(database.owner, 1_000);
  // This happens after a commit that took very long, or when the database's clock was set back.
  await database.owner.query(
    "update pb.searches set held_at = held_at - interval '1 hour', expires_at = expires_at - interval '1 hour' where id = $1",
    [request.searchId],
  );
  await database.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp() - interval '2 minutes'");
  assert.deepEqual(await expireHolds(database.owner, 1_000), { holds: 0, micros: 0n, skippedSeconds: 0 });
  assert.deepEqual(await expireHolds(database.owner, 1_000, true), { holds: 1, micros: 10_000n, skippedSeconds: 0 });
  assert.equal((await readWallet(seed.walletId)).held, 0n);
});

test("looking up an idempotency claim does not scan the wallet's other claims", async () => {
  const seed = await seedWallet(database.owner, { credit: 1_000_000n });
  const claims = (count: number): HoldRequest[] =>
    requests(count, seed).map((request) => ({
      ...request,
      idempotency: { keyHmac: randomBytes(32), fingerprint: randomBytes(32) },
    }));
  const client = await database.ledger.connect();
  try {
    // The connection caches its plans while the wallet has no claims.
    for (let round = 0; round < 7; round += 1) await holdBatch(client, claims(1));
    await database.owner.query(
      `insert into pb.idempotency (wallet_id, mode, key_hmac, fingerprint, search_id, claimed_at, answer)
       select $1, 'live', sha256(i::text::bytea), sha256('f'), gen_random_uuid(), clock_timestamp() - interval '1 hour', ''
       from generate_series(1, 5000) i`,
      [seed.walletId],
    );
    const before = await claimsRead(client);
    await holdBatch(client, claims(20));
    const read = (await claimsRead(client)) - before;
    assert.ok(read < 200, `20 holds read ${read} of 5,000 claims`);
  } finally {
    client.release();
  }
});

/** Number of index entries of pb.idempotency read so far. */
async function claimsRead(client: Queryable): Promise<number> {
  await client.query("select pg_stat_force_next_flush()");
  const { rows } = await database.owner.query<{ read: bigint }>(
    "select idx_tup_read as read from pg_stat_all_indexes where schemaname = 'pb' and indexrelname = 'idempotency_pkey'",
  );
  return Number(rows[0]?.read);
}

test("a payment reported eight times concurrently, for two wallets, is credited once", async () => {
  const one = await seedWallet(database.owner);
  const other = await seedWallet(database.owner);
  const payments = Array.from({ length: 12 }, () => randomUUIDv7());
  const report = (walletId: string, order: string[]): Promise<string[]> =>
    topUpBatch(
      database.owner,
      "top_up",
      order.map((paymentId) => ({ paymentId, walletId, amount: 70_000n })),
    );
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      report(index % 2 === 0 ? one.walletId : other.walletId, index % 3 === 0 ? payments : payments.toReversed()),
    ),
  );
  assert.equal(outcomes.flat().filter((outcome) => outcome === "credited").length, 12);
  const [left, right] = await Promise.all([readWallet(one.walletId), readWallet(other.walletId)]);
  assert.equal(left.credited + right.credited, 12n * 70_000n);
});

test("repeated refunds of a search refund it once", async () => {
  const seed = await seedWallet(database.owner, { credit: priceMicros });
  const items = requests(1, seed);
  await holdBatch(database.ledger, items);
  await captureBatch(database.ledger, items);
  const refund = items.map((item) => ({ ...item, reason: "a test" }));
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => refundBatch(database.owner, [...refund, ...refund])),
  );
  assert.equal(outcomes.flat().filter((outcome) => outcome === "refunded").length, 1);
  assert.equal(outcomes.flat().filter((outcome) => outcome === "repeated").length, 15);
  assert.deepEqual(await readWallet(seed.walletId), { credited: 20_000n, debited: 10_000n, held: 0n });
});

test("a refused item does not use up balance or budget for later items of its batch", async () => {
  const { walletId, keyId } = await seedWallet(database.owner, { credit: 4n * priceMicros });
  const limitsId = await seedKeyLimits(database.owner, walletId, { total: 2n * priceMicros });
  const budgeted = await seedKey(database.owner, walletId, { limitsId });
  const sentTwice = randomUUIDv7();
  const run = (name: string, searches: bigint): Pick<HoldRequest, "run"> => ({
    run: { name, maxMicros: searches * priceMicros, ttlSeconds: 60 },
  });
  const steps: [Partial<HoldRequest>, string][] = [
    [{ keyId: budgeted, searchId: sentTwice }, "held"],
    [{ keyId: budgeted, searchId: sentTwice }, "held"],
    [{ keyId: budgeted, ...run("empty", 0n) }, "run_budget_spent"],
    [{ keyId: budgeted }, "held"],
    [{ keyId: budgeted, ...run("of one", 1n) }, "key_budget_spent"],
    [run("of one", 1n), "held"],
    [run("of one", 1n), "run_budget_spent"],
    [{}, "held"],
    [{}, "balance_reserved"],
  ];
  const items = steps.map(([item]) => ({ searchId: randomUUIDv7(), walletId, keyId, ...item }));
  const outcomes = await holdBatch(database.ledger, items);
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    steps.map(([, outcome]) => outcome),
  );
});

test("a release after midnight is subtracted only from the day and month the search was counted in", async () => {
  const { walletId } = await seedWallet(database.owner, { credit: 100n * priceMicros });
  const limitsId = await seedKeyLimits(database.owner, walletId, { day: 3n * priceMicros, month: 5n * priceMicros });
  const seed = { walletId, keyId: await seedKey(database.owner, walletId, { limitsId }) };
  const spent = async (): Promise<string> =>
    (await readLedger(database.owner, [walletId]))
      .filter((line) => line.startsWith("window"))
      .map((line) => line.split(" ").slice(5).join(" "))
      .sort()
      .join(", ");
  const hold = async (count: number): Promise<HoldRequest[]> => {
    const items = requests(count, seed);
    const outcomes = await holdBatch(database.ledger, items);
    return items.filter((_, index) => outcomes[index]?.outcome === "held");
  };

  const yesterday = await hold(4);
  assert.equal(yesterday.length, 3, "the day's limit");
  await shiftCalendar(database.owner, [walletId], "next day");
  const today = await hold(4);
  assert.equal(today.length, 2, "the month's limit");
  assert.equal(await spent(), "30000 20000 f, 50000 50000 f");
  await releaseBatch(database.ledger, yesterday);
  assert.equal(await spent(), "30000 20000 f, 50000 20000 f", "subtracted from the month, not from today");
  await shiftCalendar(database.owner, [walletId], "next month");
  assert.equal((await hold(4)).length, 3, "a new month");
  await releaseBatch(database.ledger, today);
  assert.equal(await spent(), "30000 30000 f, 50000 30000 f", "subtracted from neither the new day nor the new month");
});

test("no hold succeeds for a key after its revocation has committed", async () => {
  // Each combination takes a different path in pb.hold.
  const variants = [
    { size: 2, wereSentBefore: true },
    { size: 2, wereSentBefore: false },
    { size: 1, wereSentBefore: false },
  ];
  const { walletId } = await seedWallet(database.owner, { credit: 100_000n * priceMicros });
  for (let trial = 0; trial < 25; trial += 1) {
    const keyId = await seedKey(database.owner, walletId);
    let isRevoked = false;
    const spend = async ({ size, wereSentBefore }: (typeof variants)[number]): Promise<void> => {
      for (let after = 0; after < 2; ) {
        const startedRevoked = isRevoked;
        const outcomes = await holdBatch(manyConnections, requests(size, { walletId, keyId }), wereSentBefore);
        if (startedRevoked) {
          assert.deepEqual(new Set(outcomes.map(({ outcome }) => outcome)), new Set(["api_key_revoked"]));
          after += 1;
        }
      }
    };
    const spenders = [...variants, ...variants].map(spend);
    const revoke = database.owner.query("select pb.revoke_key($1, $2)", [walletId, keyId]).then(() => {
      isRevoked = true;
    });
    await Promise.all([...spenders, revoke]);
    const { rows } = await database.owner.query<{ late: bigint }>(
      `select count(*) as late from pb.searches s join pb.keys k on k.id = s.key_id
       where k.id = $1 and s.held_at > k.revoked_at`,
      [keyId],
    );
    assert.equal(rows[0]?.late, 0n);
  }
});
