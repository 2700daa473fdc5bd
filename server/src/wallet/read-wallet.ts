import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export interface WalletView {
  id: string;
  name: string;
  /** What was paid in less what was charged. */
  balance: Micros;
  /** The part of the balance set aside for searches in flight. */
  held: Micros;
  /** What refunds and disputes of payments left owing. The next top-up settles it first. */
  owed: Micros;
  isSuspended: boolean;
}

export async function readWallet(pool: Pool, walletId: string): Promise<WalletView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<{ id: string; name: string; balance: Micros; held: Micros; owed: Micros; suspended: boolean }>(
      `select id, name, credited_micros - debited_micros as balance, held_micros as held,
         suspended_at is not null as suspended,
         coalesce((select owed_micros from pb.receivables where wallet_id = $1), 0)::bigint as owed
       from pb.wallets where id = $1`,
      [walletId],
    ),
  );
  const row = rows[0];
  if (!row) return undefined;
  const { suspended: isSuspended, ...wallet } = row;
  return { ...wallet, isSuspended };
}

export interface Entry {
  id: string;
  kind: "capture" | "refund" | "top_up" | "credit" | "reversal" | "reinstatement" | "settlement";
  /** Signed: what the wallet gained or lost. */
  amount: Micros;
  /** The search that was charged or refunded. */
  requestId: string | null;
  createdAt: Date;
}

export interface EntriesWanted {
  /** Only entries about this search: answers "was I charged?". */
  requestId?: string | undefined;
  /** Only entries older than this one. */
  before?: string | undefined;
  most: number;
}

/** Newest first. */
export async function readEntries(pool: Pool, walletId: string, wanted: EntriesWanted): Promise<Entry[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<{ id: string; kind: Entry["kind"]; amount: Micros; search_id: string | null; created_at: Date }>(
      `select id, kind, search_id, created_at,
         case when to_account = 'wallet' then amount_micros else -amount_micros end as amount
       from pb.transfers
       where wallet_id = $1
         and 'wallet' in (from_account, to_account)
         and ($2::uuid is null or id = $2 or (search_id = $2 and kind = 'refund'))
         and ($3::uuid is null or id < $3)
       order by id desc limit $4`,
      [walletId, wanted.requestId ?? null, wanted.before ?? null, wanted.most],
    ),
  );
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    amount: row.amount,
    requestId: row.search_id,
    createdAt: row.created_at,
  }));
}
