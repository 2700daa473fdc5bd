import { readFileSync } from "node:fs";
import { constants } from "../../src/config/constants.ts";
import { type CallerResult, measureCaller } from "../attack/abuse/paying-caller.ts";
import { startBreakableUpstream } from "../attack/fuzz/breakable-upstream.ts";
import { launchServer } from "../attack/fuzz/launch-server.ts";
import { stripeSettings, webhookSecret } from "../support/payments/payment-fixture.ts";
import { replaceConstants } from "../support/replace-constants.ts";
import { createTestDatabase, type TestDatabase } from "../support/services/database.ts";
import { createTestKey, createTestWallet, type TestWallet } from "../support/services/server.ts";
import { startTraffic } from "./traffic.ts";

// Two tenants of one server: a victim that searches at a steady rate, and an attacker. The victim is measured during the
// attack, and during the same rate of ordinary searches spread over many wallets.

export interface Size {
  /** Slots of the server. Undefined for the default. */
  maxInFlight: number;
  /** Half-sent bodies. */
  connections: number;
  /** Searches of the attacker per second. */
  searchesPerSecond: number;
  victimPerSecond: number;
  measureMs: number;
  /** Wallets of the baseline. */
  wallets: number;
  /** How long each attack with a locked wallet locks it. */
  lockMs: number[];
}

export const shortSize: Size = {
  maxInFlight: 400,
  connections: 500,
  searchesPerSecond: 150,
  victimPerSecond: 40,
  measureMs: 2_000,
  wallets: 50,
  lockMs: [1_500],
};
export const longSize: Size = {
  maxInFlight: constants.maxInFlight,
  connections: 5_000,
  searchesPerSecond: 250,
  victimPerSecond: 20,
  measureMs: 12_000,
  wallets: 1_000,
  lockMs: [8_000, 40_000],
};

export interface Target {
  db: TestDatabase;
  port: number;
  size: Size;
  attacker: TestWallet & { testKeys: string[] };
}

export interface Attack {
  /** Undefined for the measurement time of the size. */
  measureMs?: number;
  /** The rate of ordinary searches to compare with. */
  searchesPerSecond(size: Size): number;
  /** Resolves when the attack has its full size. The returned function ends it and reports what the attacker received. */
  start(target: Target): Promise<() => Promise<Record<string, number>>>;
}

export interface Fairness {
  /** The victim during ordinary searches of many wallets, and during the attack. */
  baseline: CallerResult;
  attacked: CallerResult;
  attackerStatuses: Record<string, number>;
  /** Peak memory of the server in MiB during the attack. */
  rssMib: number;
}

export interface FairnessFixture {
  measure(attack: Attack): Promise<Fairness>;
  close(): Promise<void>;
}

export async function openFairnessFixture(size: Size): Promise<FairnessFixture> {
  const db = await createTestDatabase();
  const upstream = await startBreakableUpstream();
  const server = await launchServer(db, {
    ...stripeSettings(upstream.url),
    PENNYBLACK_STRIPE_WEBHOOK_SECRET: webhookSecret,
    PENNYBLACK_SEARXNG_URL: upstream.url,
    PENNYBLACK_LOG_LEVEL: "error",
    REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379",
    // With the limits of test keys that other tests raise.
    ...replaceConstants({ ...constants, maxInFlight: size.maxInFlight }),
  });
  const port = Number(new URL(server.url).port);
  const victim = await createTestWallet(db, "1000.00");
  const target: Target = { db, port, size, attacker: await createAttacker(db) };
  const crowd = await Promise.all(Array.from({ length: size.wallets }, () => createTestWallet(db, "1000.00")));

  const measureVictim = (forMs = size.measureMs): Promise<CallerResult> =>
    measureCaller(server.url, victim.live, { forMs, perSecond: size.victimPerSecond });

  async function measureBaseline(perSecond: number, forMs?: number): Promise<CallerResult> {
    const keys = crowd.map(({ live }) => live);
    const traffic = await startTraffic({ kind: "searches", port, keys, query: "cats", perSecond });
    try {
      return await measureVictim(forMs);
    } finally {
      await traffic.stop();
    }
  }

  return {
    async measure(attack) {
      await measureVictim(500);
      const before = await measureBaseline(attack.searchesPerSecond(size), attack.measureMs);
      const stop = await attack.start(target);
      let rssMib = 0;
      const timer = setInterval(() => (rssMib = Math.max(rssMib, readRssMib(server.process.pid))), 100);
      const attacked = await measureVictim(attack.measureMs).finally(() => clearInterval(timer));
      const attackerStatuses = await stop();
      // Before and after, because other processes of the machine come and go.
      const after = await measureBaseline(attack.searchesPerSecond(size), attack.measureMs);
      const baseline = before.p99Ms > after.p99Ms ? before : after;
      return { baseline, attacked, attackerStatuses, rssMib };
    },
    async close() {
      server.process.kill("SIGKILL");
      await server.ended;
      await upstream.close();
      await db.drop();
    },
  };
}

async function createAttacker(db: TestDatabase): Promise<Target["attacker"]> {
  const wallet = await createTestWallet(db, "1000.00");
  const names = ["one", "two", "three", "four", "five"];
  const created = await Promise.all(
    names.map((name) => createTestKey(db, { walletId: wallet.walletId, mode: "test", name })),
  );
  return { ...wallet, testKeys: created.map(({ key }) => key) };
}

function readRssMib(pid: number | undefined): number {
  const [, kib = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kib) / 1_024);
}

/** Below this, the scheduling of a busy machine decides the p99, not the server. */
const noiseMs = 150;

/** The largest p99 that counts as unharmed: three times the p99 of the same rate spread over many wallets. */
export function allowedP99Ms({ baseline }: Fairness): number {
  return Math.max(noiseMs, 3 * baseline.p99Ms);
}
