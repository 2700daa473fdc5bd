import assert from "node:assert/strict";
import { expireHolds } from "../../../src/wallet/statements.ts";
import { lockWallet, type WalletLock } from "../../support/data/lock-wallet.ts";
import type { TestDatabase } from "../../support/services/database.ts";
import type { TestWallet } from "../../support/services/server.ts";

/** Direct access to the ledger as the owner of the tables: locks, states, and timestamps moved instead of waiting. */
export interface LedgerControls {
  /** Takes the wallet's lock, as another server would. */
  lock(wallet: TestWallet): Promise<WalletLock>;
  /** Changes how long the first attempt of a hold, capture or release waits for locks. */
  setLockWait(ms: number): Promise<void>;
  /** The number of charges of a wallet. */
  chargesOf(wallet: TestWallet): Promise<number>;
  /** The states of a wallet's searches, oldest first. */
  statesOf(wallet: TestWallet): Promise<string[]>;
  /** Ages a wallet's idempotency claims, so that a retry can take over an unfinished one. */
  ageClaims(wallet: TestWallet): Promise<void>;
  /** Sets the time until a wallet's holds expire. */
  moveExpiry(wallet: TestWallet, interval: string): Promise<void>;
  /** Expires the pending holds of a wallet, or of all wallets, as the worker does. Returns how many. */
  sweep(wallet?: TestWallet): Promise<number>;
}

export function createLedgerControls(db: TestDatabase): LedgerControls {
  return {
    lock: (wallet) => lockWallet(db, wallet),
    async setLockWait(ms) {
      const { rows } = await db.owner.query<{ definition: string }>(
        `select pg_get_functiondef(oid) as definition from pg_proc
         where pronamespace = 'pb'::regnamespace and prosrc like '%lock_wait_ms::text%'`,
      );
      assert.ok(rows.length > 0);
      for (const { definition } of rows) await db.owner.query(definition.replace("lock_wait_ms::text", `'${ms}'`));
    },
    async chargesOf({ walletId }) {
      const text = "select from pb.transfers where kind = 'capture' and wallet_id = $1";
      return (await db.owner.query(text, [walletId])).rowCount ?? 0;
    },
    async statesOf({ walletId }) {
      const { rows } = await db.owner.query<{ state: string }>(
        "select state from pb.searches where wallet_id = $1 order by held_at",
        [walletId],
      );
      return rows.map((row) => row.state);
    },
    async ageClaims({ walletId }) {
      await db.owner.query(
        "update pb.idempotency set claimed_at = claimed_at - interval '15 seconds' where wallet_id = $1",
        [walletId],
      );
    },
    async moveExpiry({ walletId }, interval) {
      await db.owner.query(
        "update pb.searches set expires_at = clock_timestamp() + $2::interval where wallet_id = $1",
        [walletId, interval],
      );
    },
    async sweep(wallet) {
      await db.owner.query(
        `update pb.searches set expires_at = clock_timestamp()
         where state = 'pending' and ($1::uuid is null or wallet_id = $1)`,
        [wallet?.walletId ?? null],
      );
      return (await expireHolds(db.owner, 10_000)).holds;
    },
  };
}
