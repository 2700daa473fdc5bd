import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { createPool, type Pool } from "../../src/db/pool.ts";
import { createLedger, type Ledger } from "../../src/wallet/wallet.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";

// Eight servers, each with quiet wallets of its own, and one hot wallet that all of them use.

interface Seed {
  walletId: string;
  keyId: string;
}

const servers = 8;
/** Without lanes of their own for hot wallets it is three to eight times. */
const maxRatio = 2;

let database: TestDatabase;
let pools: Pool[];
let ledgers: Ledger[];
let quiet: Seed[];
let hot: Seed;

before(async () => {
  database = await createTestDatabase();
  // Connections are scarce on a shared cluster: two lanes, the side lanes in use, and one to spare.
  const settings = { url: database.ledgerUrl, name: "test", connections: 5, isForSingleStatements: true };
  pools = Array.from({ length: servers }, () => createPool({ ...settings, onIdleError: () => {} }));
  ledgers = pools.map((pool) => createLedger(pool));
  quiet = [];
  for (let created = 0; created < servers * 4; created += 1) {
    quiet.push(await seedWallet(database.owner, { credit: 1_000_000_000n }));
  }
  hot = await seedWallet(database.owner, { credit: 1_000_000_000n });
});

after(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

async function search(ledger: Ledger, seed: Seed): Promise<number> {
  const startedAt = performance.now();
  const searchId = randomUUIDv7();
  assert.equal((await ledger.hold({ searchId, ...seed })).outcome, "held");
  assert.equal((await ledger.capture({ searchId, walletId: seed.walletId })).state, "captured");
  return performance.now() - startedAt;
}

/** Each server starts two searches every 20 ms: one of a quiet wallet, and one of the hot or another quiet wallet. */
async function medianOfQuiet(durationMs: number, isHotIncluded: boolean): Promise<number> {
  const measured: Promise<number>[] = [];
  const others: Promise<number>[] = [];
  const endsAt = performance.now() + durationMs;
  for (let round = 0; performance.now() < endsAt; round += 1) {
    for (const [server, ledger] of ledgers.entries()) {
      const ownWallet = (shift: number): Seed => quiet[server * 4 + ((round + shift) % 4)] as Seed;
      measured.push(search(ledger, ownWallet(0)));
      others.push(search(ledger, isHotIncluded ? hot : ownWallet(1)));
    }
    await wait(20);
  }
  await Promise.all(others);
  const latencies = (await Promise.all(measured)).toSorted((a, b) => a - b);
  return latencies[Math.floor(latencies.length / 2)] ?? Number.NaN;
}

test("a hot wallet that eight servers share does not slow down the other wallets", async (context) => {
  await medianOfQuiet(1_000, false);
  const ratios: number[] = [];
  // Alternating, so that other load on the machine affects both.
  for (let pass = 0; pass < 5; pass += 1) {
    const without = await medianOfQuiet(800, false);
    await medianOfQuiet(400, true);
    const withHot = await medianOfQuiet(800, true);
    ratios.push(withHot / without);
    context.diagnostic(`median of quiet wallets: ${without.toFixed(1)} ms, with a hot one ${withHot.toFixed(1)} ms`);
  }
  // The best, because other load on the machine slows down some of the passes. Without these lanes all are slow.
  const ratio = Math.min(...ratios);
  assert.ok(ratio <= maxRatio, `${ratio.toFixed(2)} times slower`);
});
