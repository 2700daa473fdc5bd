import { addOwner, openAccount } from "../accounts/accounts.ts";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import type { Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { recordAct } from "../operator/operator.ts";
import { creditOpeningBalance } from "../wallet/wallet.ts";

export interface Account {
  walletId: string;
  liveKey: string;
  managementKey: string;
  /** The adjustment, if a second operator must approve the opening credit. */
  requestedCredit?: string;
}

/** Creates an account, with or without an owner, and credits the opening balance, in one transaction. */
export function createAccount(
  pool: Pool,
  options: { name: string; balance: Micros; pepper: Pepper; owner?: string },
  operator: string,
): Promise<Account> {
  return inTransaction(pool, async (db) => {
    const { accountId, walletId, liveKey, managementKey } = await openAccount(db, options);
    if (options.owner !== undefined) await addOwner(db, accountId, options.owner);
    const requestedCredit = await creditOpeningBalance(db, { walletId, amount: options.balance, operator });
    const entry = { act: "create_wallet", walletId, target: walletId, outcome: "done", amount: options.balance };
    await recordAct(db, { operator, reason: "none given" }, entry);
    return { walletId, liveKey, managementKey, ...(requestedCredit !== undefined && { requestedCredit }) };
  });
}
