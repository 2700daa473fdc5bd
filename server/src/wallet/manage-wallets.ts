import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// Administration of wallets and budgets. Runs as the owner. Money moves only through statements.ts.

export async function createWallet(db: Queryable, wallet: { name: string; accountId: string }): Promise<string> {
  const id = randomUUIDv7();
  await db.query("insert into pb.wallets (id, name, account_id) values ($1, $2, $3)", [
    id,
    wallet.name,
    wallet.accountId,
  ]);
  return id;
}

export interface WalletOfAccount {
  id: string;
  accountId: string;
  balance: Micros;
  isSuspended: boolean;
}

export async function readAccountWallets(db: Queryable, accountIds: readonly string[]): Promise<WalletOfAccount[]> {
  const { rows } = await db.query<WalletOfAccount>(
    `select id, account_id as "accountId", credited_micros - debited_micros as balance,
       suspended_at is not null as "isSuspended"
     from pb.wallets where account_id = any ($1) order by id`,
    [accountIds],
  );
  return rows;
}

export async function findWalletAccount(db: Queryable, walletId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ account_id: string }>("select account_id from pb.wallets where id = $1", [
    walletId,
  ]);
  return rows[0]?.account_id;
}

/** Once this resolves, no search of a suspended wallet succeeds. Returns false if the wallet does not exist. */
export async function suspendWallet(db: Queryable, walletId: string, isSuspended: boolean): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>("select pb.suspend_wallet($1, $2) as found", [
    walletId,
    isSuspended,
  ]);
  return rows[0]?.found ?? false;
}

/** Spending limits of a key: total, per UTC day and per UTC month. An absent limit is unlimited. */
export interface KeyBudgetLimits {
  total?: Micros | undefined;
  day?: Micros | undefined;
  month?: Micros | undefined;
}

/** A budget counts the searches of keys of one mode: money of live keys, play money of test keys. */
export async function createKeyBudget(
  db: Queryable,
  { walletId, mode }: { walletId: string; mode: "live" | "test" },
  limits: KeyBudgetLimits,
): Promise<string> {
  const id = randomUUIDv7();
  await db.query(
    `insert into pb.key_budgets (id, wallet_id, mode, total_limit_micros, day_limit_micros, month_limit_micros)
     values ($1, $2, $3, $4, $5, $6)`,
    [id, walletId, mode, limits.total ?? null, limits.day ?? null, limits.month ?? null],
  );
  return id;
}

export interface KeyBudget {
  id: string;
  totalLimit: Micros | null;
  totalSpent: Micros;
  dayLimit: Micros | null;
  daySpent: Micros;
  monthLimit: Micros | null;
  monthSpent: Micros;
  endUserLimit: Micros | null;
  endUserPeriod: "day" | "month" | null;
  /** Midnight UTC at which the day or month counter resets. */
  dayResetsAt: Date;
  monthResetsAt: Date;
}

/** Reads all budgets of a wallet, or those with the given ids. A counter from an earlier day or month reads as 0. */
export async function readKeyBudgets(db: Queryable, walletId: string, ids?: readonly string[]): Promise<KeyBudget[]> {
  const { rows } = await db.query<KeyBudget>(
    `select id, total_limit_micros as "totalLimit", total_spent_micros as "totalSpent",
       day_limit_micros as "dayLimit",
       case when day = pb.utc_day(clock_timestamp()) then day_spent_micros else 0 end as "daySpent",
       month_limit_micros as "monthLimit",
       case when month = pb.utc_month(clock_timestamp()) then month_spent_micros else 0 end as "monthSpent",
       end_user_limit_micros as "endUserLimit", end_user_period as "endUserPeriod",
       (pb.utc_day(clock_timestamp()) + 1)::timestamp at time zone 'utc' as "dayResetsAt",
       (pb.utc_month(clock_timestamp()) + interval '1 month') at time zone 'utc' as "monthResetsAt"
     from pb.key_budgets where wallet_id = $1 and ($2::uuid[] is null or id = any ($2))`,
    [walletId, ids ?? null],
  );
  return rows;
}
