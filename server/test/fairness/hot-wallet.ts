import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { createPool } from "../../src/db/pool.ts";
import { createLedger, type Ledger } from "../../src/wallet/wallet.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { createTestDatabase } from "../support/services/database.ts";

// Eight servers, each with its own quiet wallets, and one hot wallet that all of them use.

interface Seed {
  walletId: string;
  keyId: string;
}

const servers = 8;

async function openLedgers() {
  const database = await createTestDatabase();
  // Connections are scarce on a shared cluster: two lanes, the side lanes in use, and one to spare.
  const settings = { url: database.ledgerUrl, name: "test", connections: 5, isForSingleStatements: true };
  const pools = Array.from({ length: servers }, () => createPool({ ...settings, onIdleError: () => {} }));
  const quiet: Seed[] = [];
  for (let created = 0; created < servers * 4; created += 1)
    quiet.push(await seedWallet(database.owner, { credit: 1_000_000_000n }));
  return {
    ledgers: pools.map((pool) => createLedger(pool)),
    quiet,
    hot: await seedWallet(database.owner, { credit: 1_000_000_000n }),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await database.drop();
    },
  };
}

async function search(ledger: Ledger, seed: Seed): Promise<number> {
  const startedAt = performance.now();
  const searchId = randomUUIDv7();
  assert.equal((await ledger.hold({ searchId, ...seed })).outcome, "held");
  assert.equal((await ledger.capture({ searchId, walletId: seed.walletId })).state, "captured");
  return performance.now() - startedAt;
}

/** Each server starts two searches every 20 ms: one of a quiet wallet, and one of the hot or another quiet wallet. */
async function medianOfQuiet(
  { ledgers, quiet, hot }: Awaited<ReturnType<typeof openLedgers>>,
  durationMs: number,
  isHotIncluded: boolean,
): Promise<number> {
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

/** How much slower quiet wallets become when a hot one is shared by all servers: the best of five rounds. */
export async function measureHotWallet(): Promise<number> {
  const fixture = await openLedgers();
  try {
    await medianOfQuiet(fixture, 1_000, false);
    const ratios: number[] = [];
    // Alternating, so that other load on the machine affects both.
    for (let pass = 0; pass < 5; pass += 1) {
      const without = await medianOfQuiet(fixture, 800, false);
      await medianOfQuiet(fixture, 400, true);
      ratios.push((await medianOfQuiet(fixture, 800, true)) / without);
    }
    // The best, because other load on the machine slows down some of the passes. Without these lanes all are slow.
    return Math.min(...ratios);
  } finally {
    await fixture.close();
  }
}
