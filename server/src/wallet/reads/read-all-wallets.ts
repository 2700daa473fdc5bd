import type { Queryable } from "../../db/pool.ts";
import type { Micros } from "../../lib/money.ts";
import { type Entry, signedAmount, type WalletView } from "./read-wallet.ts";

// Reads for operators, across all wallets. Tenants read their own wallet through read-wallet.ts.

export interface WalletSummary extends WalletView {
  createdAt: Date;
}

/** Newest first. `name` matches any part of the wallet's name, ignoring case. */
export async function listWallets(
  db: Queryable,
  query: { ids?: readonly string[] | undefined; name?: string | undefined; before?: string | undefined; limit: number },
): Promise<WalletSummary[]> {
  const { rows } = await db.query<WalletSummary>(
    `select id, name, credited_micros - debited_micros as balance, held_micros as held,
       suspended_at is not null as "isSuspended", created_at as "createdAt"
     from pb.wallets
     where ($1::uuid[] is null or id = any ($1)) and ($2::text is null or position(lower($2) in lower(name)) > 0)
       and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [query.ids ?? null, query.name ?? null, query.before ?? null, query.limit],
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

export interface EntryOfWallet extends Entry {
  walletId: string;
}

/** The charge and the refund of one search, in any wallet. */
export async function findEntries(db: Queryable, requestId: string): Promise<EntryOfWallet[]> {
  const { rows } = await db.query<EntryOfWallet & { amount: Micros }>(
    `select id, wallet_id as "walletId", kind, search_id as "requestId", created_at as "createdAt",
       ${signedAmount} as amount
     from pb.transfers where id = $1 or (search_id = $1 and kind = 'refund') order by id`,
    [requestId],
  );
  return rows;
}
