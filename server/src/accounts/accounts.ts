import { randomUUIDv7 } from "node:crypto";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { type Act, recordAct } from "../db/record-act.ts";
import { createKey, type Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import type { Secrets } from "../lib/secrets.ts";
import { createWallet, creditOpeningBalance } from "../wallet/wallet.ts";
import { hashTrialAddress } from "./trial-addresses.ts";

export { mailboxOf, parseEmailAddress } from "../lib/email-address.ts";
export { acceptInvitation, invite } from "./invitations.ts";
export { type AccountView, listAccounts } from "./list-accounts.ts";
export {
  catchLastOwner,
  changeRole,
  listMembers,
  type Role,
  removeMember,
  roles,
} from "./members.ts";
export { hashTrialAddress } from "./trial-addresses.ts";

// Accounts and their members. Callers pass email addresses parsed by parseEmailAddress, and have verified that the
// person receives mail there.

export interface OpenedAccount {
  accountId: string;
  walletId: string;
  liveKey: string;
  managementKey: string;
}

/** Creates an account with a wallet, a live key and a management key. Call it in a transaction. */
export async function openAccount(db: Queryable, options: { name: string; pepper: Pepper }): Promise<OpenedAccount> {
  const { name, pepper } = options;
  const { rows } = await db.query<{ id: string }>("insert into pb.accounts (name) values ($1) returning id", [name]);
  const accountId = rows[0]?.id ?? "";
  const walletId = await createWallet(db, { name, accountId });
  return { accountId, walletId, ...(await createFirstKeys(db, walletId, pepper)) };
}

/** Adds the first owner to an account without members. */
export async function addOwner(db: Queryable, accountId: string, email: string): Promise<void> {
  await db.query(
    "insert into pb.members (account_id, person_id, role) values ($1, pb.find_or_create_person($2, ''), 'owner')",
    [accountId, email],
  );
}

async function createFirstKeys(
  db: Queryable,
  walletId: string,
  pepper: Pepper,
): Promise<Pick<OpenedAccount, "liveKey" | "managementKey">> {
  const live = await createKey(db, pepper, { walletId, mode: "live", name: "live" });
  const management = await createKey(db, pepper, { walletId, mode: "mgmt", name: "management" });
  return { liveKey: live.key, managementKey: management.key };
}

export interface SignUp {
  email: string;
  personName: string;
  accountName: string;
  /** In addition to a trial. */
  openingCredit?: Micros;
  act: Act;
}

export type TrialOutcome = "given" | "already_given" | "day_is_full" | "none";

/** Arguments of pb.sign_up and pb.open_own_account: a new wallet id and the trial. Without an address, no trial is requested. */
export function newAccount(trialAddress?: Buffer): { walletId: string; values: unknown[] } {
  const walletId = randomUUIDv7();
  return { walletId, values: [walletId, trialAddress ?? null, randomUUIDv7()] };
}

/** Creates a person's account for an operator, in one transaction. Succeeds even if no trial is available. */
export function signUp(
  pool: Pool,
  options: SignUp,
  secrets: { pepper: Pepper; trialSecrets?: Secrets | undefined },
): Promise<OpenedAccount & { trial: TrialOutcome; requestedCredit?: string }> {
  return inTransaction(pool, async (db) => {
    const { trialSecrets } = secrets;
    const address = trialSecrets && (await hashTrialAddress(db, trialSecrets, options.email));
    const { walletId, values } = newAccount(address);
    const { rows } = await db.query<{ account_id: string; trial: TrialOutcome }>(
      "select * from pb.sign_up($1, $2, $3, $4, $5, $6)",
      [options.email, options.personName, options.accountName, ...values],
    );
    const { account_id: accountId = "", trial = "none" } = rows[0] ?? {};
    const after = { name: options.accountName, trial };
    await recordAct(db, options.act, { act: "account.create", subject: accountId, walletId, after });
    const { openingCredit: amount = 0n, act } = options;
    const requestedCredit = await creditOpeningBalance(db, { walletId, amount, operator: act.operator });
    const keys = await createFirstKeys(db, walletId, secrets.pepper);
    return { accountId, walletId, ...keys, trial, ...(requestedCredit !== undefined && { requestedCredit }) };
  });
}

export type AccountDeletion =
  | { outcome: "deleted" | "not_found" }
  /** Nothing was deleted: pay the balance out first, or allow it to be forfeited. */
  | { outcome: "money_left"; balance: Micros }
  /** Nothing was deleted: this amount is on hold. */
  | { outcome: "searches_in_flight"; balance: Micros }
  /** Nothing was deleted: a second operator must approve that the balance is forfeited. */
  | { outcome: "requested"; balance: Micros; adjustmentId: string };

/** Deletes an account permanently, and records it. Its ledger is kept. A balance is booked as forfeited, if that is allowed. */
export async function deleteAccount(
  db: Queryable,
  act: Act,
  accountId: string,
  allowForfeit: boolean,
): Promise<AccountDeletion> {
  const { rows } = await db.query<{ outcome: string; balance: Micros; adjustmentId: string }>(
    `select outcome, balance_micros as balance, adjustment_id as "adjustmentId"
     from pb.operator_delete_account($1, $2, $3, $4)`,
    [act.operator, act.reason, accountId, allowForfeit],
  );
  const { outcome = "not_found", balance = 0n, adjustmentId = "" } = rows[0] ?? {};
  switch (outcome) {
    case "deleted":
    case "not_found":
      return { outcome };
    case "money_left":
    case "searches_in_flight":
      return { outcome, balance };
    case "requested":
      return { outcome, balance, adjustmentId };
    default:
      throw new Error(`unexpected outcome of a deletion: ${outcome}`);
  }
}
