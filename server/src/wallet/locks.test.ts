import assert from "node:assert/strict";
import { randomInt, randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedKey, seedKeyLimits, seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/services/database.ts";
import { createPool, type Pool } from "../db/pool.ts";
import { type Micros, priceMicros } from "../lib/money.ts";
import {
  captureBatch,
  expireHolds,
  type Hold,
  type HoldRequest,
  holdBatch,
  refundBatch,
  releaseBatch,
  topUpBatch,
} from "./statements.ts";

// Runs everything that takes locks concurrently, over the same few wallets, with batches in random order.

let database: TestDatabase;
let ledger: Pool;
let owner: Pool;

before(async () => {
  database = await createTestDatabase();
  // On a busy machine, a batch can wait longer than the lock timeout of a server. A deadlock is still an error.
  const patience = { lockTimeoutMs: 30_000, statementTimeoutMs: 60_000, onIdleError: () => undefined };
  ledger = createPool({ url: database.ledgerUrl, name: "test", connections: 8, ...patience });
  owner = createPool({ url: database.ownerUrl, name: "test", connections: 8, ...patience });
});

after(async () => {
  await Promise.all([ledger.end(), owner.end()]);
  await database.drop();
});

interface Seed {
  walletId: string;
  keyId: string;
}

async function seedWallets(count: number, credit: Micros): Promise<Seed[]> {
  const seeds: Seed[] = [];
  for (let created = 0; created < count; created += 1) {
    const { walletId } = await seedWallet(database.owner, { credit });
    const limitsId = await seedKeyLimits(database.owner, walletId, { total: 1_000_000n * priceMicros });
    seeds.push({ walletId, keyId: await seedKey(database.owner, walletId, { limitsId }) });
  }
  return seeds;
}

function pick<T>(from: readonly T[]): T {
  return from[randomInt(from.length)] as T;
}

function requests(count: number, seeds: Seed[]): HoldRequest[] {
  return Array.from({ length: count }, () => ({
    searchId: randomUUIDv7(),
    ...pick(seeds),
    run: { name: `run ${randomInt(3)}`, maxMicros: 1_000_000n * priceMicros, ttlSeconds: 60 },
  }));
}

test("concurrent batches, sweeps, refunds and top-ups over the same wallets never deadlock", async () => {
  const seeds = await seedWallets(6, 100_000n * priceMicros);
  const overdue = requests(600, seeds);
  for (let sent = 0; sent < overdue.length; sent += 100) await holdBatch(ledger, overdue.slice(sent, sent + 100));
  await database.owner.query("update pb.searches set expires_at = clock_timestamp() - interval '1 second'");

  const open: Hold[] = [...overdue];
  const captured: Hold[] = [];
  const some = (from: readonly Hold[]): Hold[] => Array.from({ length: 20 }, () => pick(from));
  const steps: (() => Promise<unknown>)[] = [
    async () => {
      const items = requests(20, seeds);
      await holdBatch(ledger, items);
      open.push(...items);
    },
    async () => {
      const items = some(open);
      await captureBatch(ledger, items);
      captured.push(...items);
    },
    () => releaseBatch(ledger, some(open)),
    () => expireHolds(owner, 25),
    () =>
      refundBatch(
        owner,
        some([...open, ...captured]).map((item) => ({ ...item, reason: "a test" })),
      ),
    () =>
      topUpBatch(
        owner,
        "top_up",
        some(open).map(({ walletId }) => ({ paymentId: randomUUIDv7(), walletId, amount: 1n })),
      ),
  ];
  const work = async (worker: number): Promise<void> => {
    for (let step = 0; step < 60; step += 1) await steps[(worker + step * 5 + randomInt(2)) % steps.length]?.();
  };
  // PostgreSQL reports a deadlock as an error (40P01), which rejects here.
  await Promise.all(Array.from({ length: 12 }, (_, worker) => work(worker)));
});

test("a concurrent reader never sees a negative balance, or held_micros different from the sum of pending searches", async () => {
  const seeds = await seedWallets(2, 30n * priceMicros);
  let isDone = false;
  const spend = async (): Promise<void> => {
    for (let round = 0; round < 40; round += 1) {
      const items = requests(8, seeds);
      await holdBatch(database.ledger, items);
      await captureBatch(database.ledger, items.slice(0, 1));
      await releaseBatch(database.ledger, items.slice(1));
    }
  };
  const watch = async (): Promise<number> => {
    for (let reads = 0; ; reads += 1) {
      const { rows } = await database.owner.query<{ available: Micros; difference: Micros }>(
        `select w.credited_micros - w.debited_micros - w.held_micros as available,
           w.held_micros - coalesce((
             select sum(price_micros) from pb.searches s where s.wallet_id = w.id and s.state = 'pending'
           ), 0)::bigint as difference
         from pb.wallets w where w.id = any ($1)`,
        [seeds.map(({ walletId }) => walletId)],
      );
      for (const { available, difference } of rows) {
        assert.ok(available >= 0n);
        assert.equal(difference, 0n);
      }
      if (isDone) return reads;
    }
  };
  const watching = watch();
  await Promise.all(Array.from({ length: 4 }, spend)).finally(() => {
    isDone = true;
  });
  assert.ok((await watching) > 20, "the reader ran while money moved");
});
