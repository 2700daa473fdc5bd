import { randomBytes } from "node:crypto";
import { createPool } from "../server/src/db/pool.ts";
import { busy } from "../server/src/db/settle-batch.ts";
import { prepareDatabase } from "../server/src/dev/prepare-database.ts";
import { type HoldRequest, sendCaptures, sendHolds } from "../server/src/wallet/statements.ts";
import { createLedger, type Ledger, ledgerConnections } from "../server/src/wallet/wallet.ts";
import { checkCharges } from "./check-charges.ts";
import { seedWallets } from "./seed-wallets.ts";
import { connectAsOwner } from "./start-postgres.ts";

// The ledger of a checkout, with its own database and schema. `--before` imports this file from the other checkout, so
// `openCheckout` and `Checkout` must keep working across the commits that are compared.

/** Kinds of searches. A plain one has only a key. */
export const variants = ["plain", "idempotent", "one_limit", "three_limits", "two_shared", "run", "end_user"] as const;
export type Variant = (typeof variants)[number];

/** A search without its id. */
export type NewSearch = Omit<HoldRequest, "searchId"> & { answer?: Buffer | undefined };
export type Search = NewSearch & { searchId: string };

export interface Checkout {
  /** A search of the wallet with this number. Each variant has its own wallets. */
  newSearch(variant: Variant, wallet: number): NewSearch;
  /** One statement each, on one connection. */
  hold(searches: readonly Search[]): Promise<void>;
  capture(searches: readonly Search[]): Promise<void>;
  /** PostgreSQL's process of that connection. */
  pid: number;
  /** The same through the lanes of a server. */
  ledger: Ledger;
  /** Makes PostgreSQL's statistics include the statements above. */
  flushStatistics(): Promise<void>;
  checkCharges(captured: number): Promise<string>;
  close(): Promise<void>;
}

// Never reached, because a refused search would fail the benchmark.
const limitMicros = 1_000_000_000_000n;
const limitsOf: Partial<Record<Variant, readonly string[]>> = {
  one_limit: ["total"],
  three_limits: ["total", "day", "month"],
  two_shared: ["shared week", "shared month"],
  end_user: ["end_user"],
};

// Ten results take about this much when they are compressed and encrypted.
const answer = randomBytes(1_100);
const endUsersPerWallet = 100;
// As servers record them.
const stepMs = { auth: 1, hold: 4, upstream: 180, rank: 2 };

/** Creates the database, if it does not exist, with this checkout's schema and `wallets` wallets for each variant. */
export async function openCheckout(adminUrl: string, wallets: number): Promise<Checkout> {
  const urls = await prepareDatabase(adminUrl);
  const owner = connectAsOwner(urls);
  const pepper = { version: 1, bytes: randomBytes(32) };
  const seeded = new Map<Variant, { walletId: string; keyId: string }[]>();
  for (const variant of variants)
    seeded.set(variant, await seedWallets(owner, pepper, wallets, { limitMicros, limits: limitsOf[variant] ?? [] }));
  await owner.query("analyze");
  const shared = { url: urls.ledger, name: "pennyblack bench", onIdleError: () => undefined };
  const single = createPool({ ...shared, connections: 1 });
  const pool = createPool({ ...shared, connections: ledgerConnections, isForSingleStatements: true });
  const { rows } = await single.query<{ pid: number }>("select pg_backend_pid() as pid");
  let searches = 0;

  function newSearch(variant: Variant, wallet: number): NewSearch {
    const { walletId, keyId } = seeded.get(variant)?.at(wallet) ?? { walletId: "", keyId: "" };
    const search = { walletId, keyId, stepMs, upstreams: "brave" };
    searches += 1;
    switch (variant) {
      case "idempotent":
        return {
          ...search,
          idempotency: { keyHmac: randomBytes(32), fingerprint: randomBytes(32) },
          answer,
        };
      case "run":
        return { ...search, run: { name: "bench", maxMicros: limitMicros, ttlSeconds: 86_400 } };
      case "end_user":
        return { ...search, endUser: `user-${searches % endUsersPerWallet}` };
      default:
        return search;
    }
  }

  return {
    newSearch,
    hold: async (items) => {
      const outcomes = await sendHolds(single, items, { isResend: false, lockWait: "short" });
      requireAll(outcomes.every((each) => each !== busy && each.outcome === "held"));
    },
    capture: async (items) => {
      const states = await sendCaptures(single, items, { lockWait: "short" });
      requireAll(states.every((each) => each !== busy && each.state === "captured"));
    },
    pid: rows[0]?.pid ?? 0,
    ledger: createLedger(pool),
    flushStatistics: async () => void (await single.query("select pg_stat_force_next_flush()")),
    checkCharges: (captured) => checkCharges(owner, captured),
    close: async () => void (await Promise.all([owner, single, pool].map((each) => each.end()))),
  };
}

function requireAll(isCharged: boolean): void {
  if (!isCharged) throw new Error("a search was not held or not captured");
}
