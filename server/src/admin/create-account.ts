import { addOwner, openAccount } from "../accounts/accounts.ts";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import type { Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { noteAct } from "../operator/operator.ts";
import { topUpBatch } from "../wallet/wallet.ts";

export interface Account {
  walletId: string;
  liveKey: string;
  managementKey: string;
}

/** An account, of nobody's if no owner is named, and what its wallet begins with as a credit of ours: all or nothing. */
export function createAccount(
  pool: Pool,
  wanted: { name: string; balance: Micros; pepper: Pepper; owner?: string },
  operator: string,
): Promise<Account> {
  return inTransaction(pool, async (db) => {
    const { accountId, walletId, liveKey, managementKey } = await openAccount(db, wanted);
    if (wanted.owner !== undefined) await addOwner(db, accountId, wanted.owner);
    if (wanted.balance > 0n) {
      await topUpBatch(db, "credit", [{ paymentId: `opening-${walletId}`, walletId, amount: wanted.balance }]);
    }
    const what = { act: "create_wallet", walletId, target: walletId, outcome: "done", amount: wanted.balance };
    await noteAct(db, { operator, reason: "none given" }, what);
    return { walletId, liveKey, managementKey };
  });
}
