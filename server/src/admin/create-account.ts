import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import { createKey, type Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { createWallet, topUpBatch } from "../wallet/wallet.ts";

export interface Account {
  walletId: string;
  liveKey: string;
  managementKey: string;
}

/** A wallet, what it begins with as a credit of ours, a key that spends and one that manages: all or nothing. */
export function createAccount(pool: Pool, wanted: { name: string; balance: Micros; pepper: Pepper }): Promise<Account> {
  return inTransaction(pool, async (db) => {
    const walletId = await createWallet(db, { name: wanted.name });
    if (wanted.balance > 0n) {
      await topUpBatch(db, "credit", [{ paymentId: `opening-${walletId}`, walletId, amount: wanted.balance }]);
    }
    const live = await createKey(db, wanted.pepper, { walletId, mode: "live", name: "live" });
    const management = await createKey(db, wanted.pepper, { walletId, mode: "mgmt", name: "management" });
    return { walletId, liveKey: live.key, managementKey: management.key };
  });
}
