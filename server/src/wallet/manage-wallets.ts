import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

// What an operator does to wallets and budgets. Run as the owner; money itself moves only through statements.ts.

export async function createWallet(db: Queryable, wallet: { name: string }): Promise<string> {
  const id = randomUUIDv7();
  await db.query("insert into pb.wallets (id, name) values ($1, $2)", [id, wallet.name]);
  return id;
}

/** From the moment this resolves, a suspended wallet pays for nothing. False if there is no such wallet. */
export async function suspendWallet(db: Queryable, walletId: string, isSuspended: boolean): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>("select pb.suspend_wallet($1, $2) as found", [
    walletId,
    isSuspended,
  ]);
  return rows[0]?.found ?? false;
}

/** What a key may spend: in all, in a UTC day, in a UTC month. A limit that is missing does not exist. */
export interface KeyBudgetLimits {
  total?: Micros | undefined;
  day?: Micros | undefined;
  month?: Micros | undefined;
}

export async function createKeyBudget(db: Queryable, walletId: string, limits: KeyBudgetLimits): Promise<string> {
  const id = randomUUIDv7();
  await db.query(
    `insert into pb.key_budgets (id, wallet_id, total_limit_micros, day_limit_micros, month_limit_micros)
     values ($1, $2, $3, $4, $5)`,
    [id, walletId, limits.total ?? null, limits.day ?? null, limits.month ?? null],
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
}

/** A figure of a day or month that is over counts as nothing spent. */
export async function readKeyBudgets(db: Queryable, walletId: string): Promise<KeyBudget[]> {
  const { rows } = await db.query<KeyBudget>(
    `select id, total_limit_micros as "totalLimit", total_spent_micros as "totalSpent",
       day_limit_micros as "dayLimit",
       case when day = pb.utc_day(clock_timestamp()) then day_spent_micros else 0 end as "daySpent",
       month_limit_micros as "monthLimit",
       case when month = pb.utc_month(clock_timestamp()) then month_spent_micros else 0 end as "monthSpent"
     from pb.key_budgets where wallet_id = $1`,
    [walletId],
  );
  return rows;
}

/** Whose search it was: what a caller quotes is the Request-Id alone. */
export async function findSearchWallet(db: Queryable, searchId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ wallet_id: string }>("select wallet_id from pb.searches where id = $1", [searchId]);
  return rows[0]?.wallet_id;
}
