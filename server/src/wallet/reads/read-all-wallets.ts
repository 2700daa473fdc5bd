import type { Queryable } from "../../db/pool.ts";
import type { Micros } from "../../lib/money.ts";
import type { WalletView } from "./read-wallet.ts";

// Reads for operators, across all wallets. Tenants read their own wallet through read-wallet.ts.

export interface WalletSummary extends Omit<WalletView, "owed"> {
  accountId: string;
  createdAt: Date;
}

/** Newest first. `name` matches any part of the wallet's name, ignoring case. */
export async function listWallets(
  db: Queryable,
  query: {
    ids?: readonly string[] | undefined;
    accountIds?: readonly string[] | undefined;
    name?: string | undefined;
    before?: string | undefined;
    limit: number;
  },
): Promise<WalletSummary[]> {
  const { rows } = await db.query<WalletSummary>(
    `select id, name, account_id as "accountId", credited_micros - debited_micros as balance, held_micros as held,
       suspended_at is not null as "isSuspended", created_at as "createdAt"
     from pb.wallets
     where ($1::uuid[] is null or id = any ($1)) and ($2::text is null or position(lower($2) in lower(name)) > 0)
       and ($3::uuid is null or id < $3) and ($5::uuid[] is null or account_id = any ($5))
     order by id desc limit $4`,
    [query.ids ?? null, query.name ?? null, query.before ?? null, query.limit, query.accountIds ?? null],
  );
  return rows;
}

/** The balances of all wallets, including what is on hold. */
export async function readTotalBalance(db: Queryable): Promise<Micros> {
  const { rows } = await db.query<{ balance: Micros }>(
    "select coalesce(sum(credited_micros - debited_micros), 0)::bigint as balance from pb.wallets",
  );
  return rows[0]?.balance ?? 0n;
}

/** The location of a search, and the details that only operators see. */
export interface SearchOfWallet {
  walletId: string;
  keyId: string;
  state: "pending" | "captured" | "released" | "expired";
  /** The upstreams queried, in order, such as "brave:timeout,searxng". */
  upstreams: string | null;
}

export async function findSearch(db: Queryable, id: string): Promise<SearchOfWallet | undefined> {
  const { rows } = await db.query<SearchOfWallet>(
    `select wallet_id as "walletId", key_id as "keyId", state, upstreams from pb.searches where id = $1`,
    [id],
  );
  return rows[0];
}

/** Days before this one are archived. */
export async function readSearchesSince(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ since: Date }>("select pb.searches_listed_since() as since");
  return rows[0]?.since ?? new Date(0);
}
