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
export interface KeyLimits {
  total?: Micros | undefined;
  day?: Micros | undefined;
  month?: Micros | undefined;
}

/** Limits count the searches of keys of one mode: money of live keys, play money of test keys. */
export async function createKeyLimits(
  db: Queryable,
  { walletId, mode }: { walletId: string; mode: "live" | "test" },
  limits: KeyLimits,
): Promise<string> {
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  const { rows } = await db.query<{ id: string }>("select pb.save_key_limits($1, null, $2, $3) as id", [
    walletId,
    mode,
    JSON.stringify(Object.fromEntries(given.map(([name, limit]) => [name, String(limit)]))),
  ]);
  const [row] = rows;
  if (!row) throw new Error("pb.save_key_limits returned no row");
  return row.id;
}

export interface KeyBudget {
  /** The id of the key's limits. */
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

/** The keys' own limits with the given ids, and what is spent of them. A window that has ended reads as 0. */
export async function readKeyBudgets(db: Queryable, walletId: string, ids: readonly string[]): Promise<KeyBudget[]> {
  const spent = (kind: string): string => `coalesce(max(spent) filter (where kind = '${kind}'), 0)`;
  const limit = (kind: string): string => `max(amount) filter (where kind = '${kind}')`;
  const { rows } = await db.query<KeyBudget>(
    `select id, ${limit("total")} as "totalLimit", ${spent("total")} as "totalSpent",
       ${limit("day")} as "dayLimit", ${spent("day")} as "daySpent",
       ${limit("month")} as "monthLimit", ${spent("month")} as "monthSpent",
       ${limit("end_user")} as "endUserLimit", max(period) filter (where kind = 'end_user') as "endUserPeriod",
       (pb.utc_day(clock_timestamp()) + 1)::timestamp at time zone 'utc' as "dayResetsAt",
       (pb.utc_month(clock_timestamp()) + interval '1 month') at time zone 'utc' as "monthResetsAt"
     from (
       select l.limits_id as id, b.amount_micros as amount, b.period, w.spent_micros as spent,
         case when b.per_end_user then 'end_user' else coalesce(b.period, 'total') end as kind
       from pb.key_limit_budgets l
       join pb.budgets b on b.id = l.budget_id
       left join pb.budget_windows w on w.wallet_id = b.wallet_id and w.mode = b.mode and w.budget_id = b.id
         and w.subject = '' and (w.resets_at is null or w.resets_at > clock_timestamp())
       where l.wallet_id = $1 and l.limits_id = any ($2) and b.name is null
     ) limits group by id`,
    [walletId, ids],
  );
  return rows;
}
