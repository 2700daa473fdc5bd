import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { firstIdOf } from "../lib/first-id-of.ts";
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

/** What callers call it. */
export function nameOfKind(kind: Entry["kind"]): string {
  return kind === "capture" ? "search" : kind;
}

export interface EntriesWanted {
  /** Only entries about this search: answers "was I charged?". */
  requestId?: string | undefined;
  /** Only entries older than this one. */
  before?: string | undefined;
  /** Only entries of searches sent, and of money moved, from this moment on and before that one. */
  from?: Date | undefined;
  to?: Date | undefined;
  kind?: Entry["kind"] | undefined;
  most: number;
}

/** Newest first. */
export async function readEntries(pool: Pool, walletId: string, wanted: EntriesWanted): Promise<Entry[]> {
  const { kind } = wanted;
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<EntryRow>(
      `select ${entryColumns}
       from pb.transfers
       where wallet_id = $1
         and 'wallet' in (from_account, to_account)
         and ($2::uuid is null or id = $2 or (search_id = $2 and kind = 'refund'))
         and ($3::uuid is null or id < $3)
         and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
         ${kind === undefined ? "" : `and kind = '${kind}'`}
         ${kind === undefined || kind === "capture" ? "" : isInSmallIndex}
       order by id desc limit $4`,
      [
        walletId,
        wanted.requestId ?? null,
        wanted.before ?? null,
        wanted.most,
        wanted.from ? firstIdOf(wanted.from) : null,
        wanted.to ? firstIdOf(wanted.to) : null,
      ],
    ),
  );
  return rows.map(toEntry);
}

// Said in the words of the index of all that is no capture, or PostgreSQL would not see that it may use it.
const isInSmallIndex = "and kind <> 'capture'";

/** A page of entries, oldest first: those after an id, or from a first one on, and before another. */
export async function readEntriesForward(
  pool: Pool,
  walletId: string,
  wanted: { after: string; before: string; most: number },
): Promise<Entry[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<EntryRow>(
      `select ${entryColumns} from pb.transfers
       where wallet_id = $1 and id > $2 and id < $3 and 'wallet' in (from_account, to_account) order by id limit $4`,
      [walletId, wanted.after, wanted.before, wanted.most],
    ),
  );
  return rows.map(toEntry);
}

const dayMs = 86_400_000;

/** An entry bears the id of its search, and an id is at most a day off the moment it was booked. */
export const mostLateMs = 1.1 * dayMs;

/** Above every id there can be by now. The partitions of the coming weeks need not even be planned for. */
export function beyondNewest(): string {
  return firstIdOf(new Date(Date.now() + mostLateMs));
}

/**
 * What the wallet's entries before a moment sum to, in statements of a day each. It goes back from today's balance, for
 * who asks wants the last weeks rather than the first. The first stretch is read with the balance in one statement and
 * is longer than a day, because ids up to a day old can still come.
 */
export async function readBalanceAt(pool: Pool, walletId: string, moment: Date): Promise<Micros> {
  let edge = Date.now() - mostLateMs;
  const newest = await asTenant(pool, walletId, (db) =>
    db.query<{ balance: Micros; created_at: Date }>(
      `select created_at, credited_micros - debited_micros - (
         select coalesce(sum(${signedAmount}), 0)::bigint from pb.transfers where wallet_id = $1 and id >= $2
       ) as balance
       from pb.wallets where id = $1`,
      [walletId, firstIdOf(new Date(Math.max(edge, moment.getTime())))],
    ),
  );
  let { balance = 0n } = newest.rows[0] ?? {};
  // No wallet has entries from before it was made; a day for clocks that are off.
  const since = Math.max(moment.getTime(), (newest.rows[0]?.created_at.getTime() ?? 0) - dayMs);
  for (; edge > since; edge -= dayMs) {
    const range = [new Date(Math.max(since, edge - dayMs)), new Date(edge)].map(firstIdOf);
    const { rows } = await asTenant(pool, walletId, (db) =>
      db.query<{ sum: Micros }>(
        `select coalesce(sum(${signedAmount}), 0)::bigint as sum
         from pb.transfers where wallet_id = $1 and id >= $2 and id < $3`,
        [walletId, ...range],
      ),
    );
    balance -= rows[0]?.sum ?? 0n;
  }
  return balance;
}

// What is owed beside the wallet moves between other accounts, and is nothing to the wallet itself.
export const signedAmount =
  "case when to_account = 'wallet' then amount_micros when from_account = 'wallet' then -amount_micros else 0 end";
export const entryColumns = `id, kind, search_id, created_at, ${signedAmount} as amount`;

export interface EntryRow {
  id: string;
  kind: Entry["kind"];
  amount: Micros;
  search_id: string | null;
  created_at: Date;
}

export function toEntry(row: EntryRow): Entry {
  return { id: row.id, kind: row.kind, amount: row.amount, requestId: row.search_id, createdAt: row.created_at };
}
