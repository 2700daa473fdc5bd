import { createHmac, randomUUIDv7 } from "node:crypto";
import { inTransaction } from "../db/in-transaction.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { createKey, type Pepper } from "../keys/keys.ts";
import type { Micros } from "../lib/money.ts";
import { createWallet, topUpBatch } from "../wallet/wallet.ts";
import { mailboxOf } from "./email.ts";

export { mailboxOf, readEmail } from "./email.ts";
export { acceptInvitation, invite } from "./invitations.ts";
export { type AccountView, listAccounts } from "./list-accounts.ts";
export {
  changeRole,
  keepingAnOwner,
  listMembers,
  type Role,
  removeMember,
  roles,
} from "./members.ts";

// Accounts, the people in them and what begins and ends them. An e-mail address that arrives here has been read by
// readEmail, and whoever calls has seen to it that the person can read mail there.

export interface OpenedAccount {
  accountId: string;
  walletId: string;
  liveKey: string;
  managementKey: string;
}

/** An account with a wallet, a key that spends and one that manages. Give it a transaction. */
export async function openAccount(db: Queryable, wanted: { name: string; pepper: Pepper }): Promise<OpenedAccount> {
  const { name, pepper } = wanted;
  const { rows } = await db.query<{ id: string }>("insert into pb.accounts (name) values ($1) returning id", [name]);
  const accountId = rows[0]?.id ?? "";
  const walletId = await createWallet(db, { name, accountId });
  return { accountId, walletId, ...(await createFirstKeys(db, walletId, pepper)) };
}

/** For an account that begins without anybody. */
export async function addOwner(db: Queryable, accountId: string, email: string): Promise<void> {
  await db.query("insert into pb.members (account_id, person_id, role) values ($1, pb.know_person($2, ''), 'owner')", [
    accountId,
    email,
  ]);
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

/** What a new account may get from us, and how often at most. */
export interface TrialTerms {
  amount: Micros;
  mostPerDay: number;
  /** Addresses that had a trial are remembered as an HMAC under it. */
  secret: Buffer;
}

export interface SignUp {
  email: string;
  personName: string;
  accountName: string;
  /** What the account begins with as a credit of ours, beside a trial. */
  balance?: Micros;
}

export type TrialOutcome = "given" | "already_given" | "day_is_full" | "none";

/** What pb.sign_up and pb.open_own_account take: a wallet to be, and the trial that it may begin with. */
export function newAccount(email: string, trial: TrialTerms | undefined): { walletId: string; values: unknown[] } {
  const walletId = randomUUIDv7();
  const { amount, mostPerDay } = trial ?? { amount: 0n, mostPerDay: 0 };
  const mailboxHmac =
    trial &&
    createHmac("sha256", trial.secret)
      .update(`trial ${mailboxOf(email)}`)
      .digest();
  return { walletId, values: [walletId, mailboxHmac ?? null, amount, mostPerDay, randomUUIDv7()] };
}

/** A person's own account: all of it or nothing. That there is no trial left is no reason to refuse it. */
export function signUp(
  pool: Pool,
  wanted: SignUp,
  terms: { pepper: Pepper; trial?: TrialTerms | undefined },
): Promise<OpenedAccount & { trial: TrialOutcome }> {
  return inTransaction(pool, async (db) => {
    const { walletId, values } = newAccount(wanted.email, terms.trial);
    const { rows } = await db.query<{ account_id: string; trial: TrialOutcome }>(
      "select * from pb.sign_up($1, $2, $3, $4, $5, $6, $7, $8)",
      [wanted.email, wanted.personName, wanted.accountName, ...values],
    );
    const { account_id: accountId = "", trial = "none" } = rows[0] ?? {};
    if (wanted.balance) {
      await topUpBatch(db, "credit", [{ paymentId: `opening-${walletId}`, walletId, amount: wanted.balance }]);
    }
    return { accountId, walletId, ...(await createFirstKeys(db, walletId, terms.pepper)), trial };
  });
}

export type Deletion =
  | { outcome: "deleted" | "not_found" }
  /** Nothing was deleted: pay it back first, or say that it is forfeited. */
  | { outcome: "money_left"; balance: Micros };

/** Ends an account for good and keeps its books. */
export async function deleteAccount(db: Queryable, accountId: string, mayForfeit: boolean): Promise<Deletion> {
  const { rows } = await db.query<{ outcome: Deletion["outcome"]; balance_micros: Micros }>(
    "select * from pb.delete_account($1, $2)",
    [accountId, mayForfeit],
  );
  const row = rows[0];
  if (row?.outcome === "money_left") return { outcome: "money_left", balance: row.balance_micros };
  return { outcome: row?.outcome ?? "not_found" };
}
