import { addOwner, openAccount } from "../accounts/accounts.ts";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool } from "../db/pool.ts";
import { type Act, recordAct } from "../db/record-act.ts";
import type { Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
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
  act: Act,
): Promise<Account> {
  return inTransaction(pool, async (db) => {
    const { accountId, walletId, liveKey, managementKey } = await openAccount(db, options);
    if (options.owner !== undefined) await addOwner(db, accountId, options.owner);
    const after = { name: options.name };
    await recordAct(db, act, { act: "wallet.create", subject: walletId, walletId, after });
    const { operator } = act;
    const requestedCredit = await creditOpeningBalance(db, { walletId, amount: options.balance, operator });
    return { walletId, liveKey, managementKey, ...(requestedCredit !== undefined && { requestedCredit }) };
  });
}
