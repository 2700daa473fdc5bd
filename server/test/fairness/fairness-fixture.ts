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

// Two tenants of one server: a victim that searches at a steady rate, and an attacker.

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
  /** Of the wallet whose usage is read. */
  endUsers: number;
  /** Searches that are all refused: the keys of one wallet, and other wallets with one key each. */
  flood: { keys: number; wallets: number; forMs: number };
}

export const shortSize: Size = {
  maxInFlight: 400,
  connections: 500,
  searchesPerSecond: 150,
  victimPerSecond: 40,
  measureMs: 2_000,
  wallets: 50,
  lockMs: [1_500],
  endUsers: 20_000,
  flood: { keys: 100, wallets: 10, forMs: 5_000 },
};
export const longSize: Size = {
  maxInFlight: constants.maxInFlight,
  connections: 5_000,
  searchesPerSecond: 250,
  victimPerSecond: 20,
  measureMs: 12_000,
  wallets: 1_000,
  lockMs: [8_000, 40_000],
  endUsers: 500_000,
  flood: { keys: 1_000, wallets: 100, forMs: 300_000 },
};

export interface Target {
  db: TestDatabase;
  port: number;
  url: string;
  size: Size;
  victim: TestWallet;
  attacker: TestWallet & { testKeys: string[] };
}

export interface Attack {
  /** Undefined for the measurement time of the size. */
  measureMs?: number;
  /** What is measured. Undefined for the victim's searches. */
  openVictim?(target: Target): Promise<Victim>;
  /** For attacks with ordinary searches: before and after, other wallets search at the same rate. */
  searchesPerSecond?(size: Size): number;
  /** Resolves when the attack has its full size. The returned function ends it and reports what the attacker received. */
  start(target: Target): Promise<() => Promise<Record<string, number>>>;
}

export interface Victim {
  measure(forMs: number): Promise<CallerResult>;
  close(): Promise<void>;
}

export interface Attacked extends CallerResult {
  /** The responses that the attacker received, by status. */
  attackerStatuses: Record<string, number>;
  /** Peak memory of the server in MiB. */
  rssMib: number;
}

/** The victim of one attack. */
export interface Trial {
  measureDuring(): Promise<Attacked>;
  /** For comparison: without the attack. */
  measureWithout(): Promise<CallerResult>;
  close(): Promise<void>;
}

export interface FairnessFixture {
  target: Target;
  openTrial(attack: Attack): Promise<Trial>;
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
    PENNYBLACK_WEBHOOKS_ALLOW_PRIVATE: "true",
    REDIS_URL: process.env["PENNYBLACK_TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379",
    // With the limits of test keys that other tests raise.
    ...replaceConstants({ ...constants, maxInFlight: size.maxInFlight }),
  });
  const port = Number(new URL(server.url).port);
  const victim = await createTestWallet(db, "1000.00");
  const target: Target = { db, port, url: server.url, size, victim, attacker: await createAttacker(db) };
  const crowd = await Promise.all(Array.from({ length: size.wallets }, () => createTestWallet(db, "1000.00")));

  const searching: Victim = {
    measure: (forMs) => measureCaller(server.url, victim.live, { forMs, perSecond: size.victimPerSecond }),
    close: async () => undefined,
  };

  return {
    target,
    async openTrial(attack) {
      const measured = (await attack.openVictim?.(target)) ?? searching;
      const measureMs = attack.measureMs ?? size.measureMs;
      await measured.measure(500);
      return {
        async measureDuring() {
          const stop = await attack.start(target);
          let rssMib = 0;
          const timer = setInterval(() => (rssMib = Math.max(rssMib, readRssMib(server.process.pid))), 100);
          const result = await measured.measure(measureMs).finally(() => clearInterval(timer));
          return { ...result, attackerStatuses: await stop(), rssMib };
        },
        async measureWithout() {
          const perSecond = attack.searchesPerSecond?.(size);
          if (perSecond === undefined) return measured.measure(measureMs);
          const keys = crowd.map(({ live }) => live);
          const traffic = await startTraffic({ kind: "searches", port, keys, query: "cats", perSecond });
          try {
            return await measured.measure(measureMs);
          } finally {
            await traffic.stop();
          }
        },
        close: () => measured.close(),
      };
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
