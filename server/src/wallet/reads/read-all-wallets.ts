import type { Queryable } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { type Entry, signedAmount, type WalletView } from "./read-wallet.ts";

// For operators, who see every wallet. Callers see theirs through read-wallet.ts.

export interface WalletSummary extends WalletView {
  createdAt: Date;
}

/** Newest first. `name` finds wallets whose name contains it. */
export async function listWallets(
  db: Queryable,
  wanted: { id?: string | undefined; name?: string | undefined; before?: string | undefined; most: number },
): Promise<WalletSummary[]> {
  const { rows } = await db.query<WalletSummary>(
    `select id, name, credited_micros - debited_micros as balance, held_micros as held,
       suspended_at is not null as "isSuspended", created_at as "createdAt"
     from pb.wallets
     where ($1::uuid is null or id = $1) and ($2::text is null or position(lower($2) in lower(name)) > 0)
       and ($3::uuid is null or id < $3)
     order by id desc limit $4`,
    [wanted.id ?? null, wanted.name ?? null, wanted.before ?? null, wanted.most],
  );
  return rows;
}

export interface EntryOfWallet extends Entry {
  walletId: string;
}

/** What was charged and given back for one search, whoever asked for it. */
export async function findEntries(db: Queryable, requestId: string): Promise<EntryOfWallet[]> {
  const { rows } = await db.query<EntryOfWallet & { amount: Micros }>(
    `select id, wallet_id as "walletId", kind, search_id as "requestId", created_at as "createdAt",
       ${signedAmount} as amount
     from pb.transfers where id = $1 or (search_id = $1 and kind = 'refund') order by id`,
    [requestId],
  );
  return rows;
}
