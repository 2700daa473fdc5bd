import { asTenant } from "../../db/as-tenant.ts";
import type { Pool } from "../../db/pool.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import type { Micros } from "../../lib/money.ts";

export interface WalletView {
  id: string;
  name: string;
  /** Credits minus charges. */
  balance: Micros;
  /** Part of the balance reserved for searches in flight. */
  held: Micros;
  /** Debt left by refunded or disputed payments. Money that becomes available pays it first. */
  owed: Micros;
  isSuspended: boolean;
}

export async function readWallet(pool: Pool, walletId: string): Promise<WalletView | undefined> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<{ id: string; name: string; balance: Micros; held: Micros; owed: Micros; suspended: boolean }>(
      `select id, name, credited_micros - debited_micros as balance, held_micros as held,
         owed_micros as owed, suspended_at is not null as suspended
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
  kind:
    | "capture"
    | "refund"
    | "top_up"
    | "credit"
    | "reversal"
    | "reinstatement"
    | "settlement"
    | "receivable"
    | "correction"
    | "payout"
    | "write_off"
    | "recovery"
    | "fee"
    | "breakage"
    | "transfer_out"
    | "transfer_in";
  /** Negative if the wallet lost money. */
  amount: Micros;
  /** The search that was charged or refunded. */
  requestId: string | null;
  createdAt: Date;
  /** `createdAt` with microseconds, as in the digest of the hour: "2026-11-16T05:00:00.000000Z". */
  createdAtMicros: string;
}

/** The name of the kind in the API. */
export function publicKind(kind: Entry["kind"]): string {
  return kind === "capture" ? "search" : kind;
}

export interface EntriesQuery {
  /** Only the charge and refund of this search. */
  requestId?: string | undefined;
  /** Only entries older than this one. */
  before?: string | undefined;
  /** Only entries in [from, to). A search counts at the time it was sent. */
  from?: Date | undefined;
  to?: Date | undefined;
  kind?: Entry["kind"] | undefined;
  limit: number;
}

/** Newest first. */
export async function readEntries(pool: Pool, walletId: string, query: EntriesQuery): Promise<Entry[]> {
  const { kind } = query;
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
         ${kind === undefined || kind === "capture" ? "" : matchesPartialIndex}
       order by id desc limit $4`,
      [
        walletId,
        query.requestId ?? null,
        query.before ?? null,
        query.limit,
        query.from ? firstIdOf(query.from) : null,
        query.to ? firstIdOf(query.to) : null,
      ],
    ),
  );
  return rows.map(toEntry);
}

// The predicate of the partial index, repeated literally so that the planner can use it.
const matchesPartialIndex = "and kind <> 'capture'";

/** An entry with all fields that the digest of its hour is computed from. */
export interface FullEntry extends Entry {
  fromAccount: string;
  toAccount: string;
  amountMicros: bigint;
}

/**
 * Entries with ids between `after` and `before`, both exclusive, oldest first. Includes those that only change the debt,
 * because they are part of the digest.
 */
export async function readEntriesForward(
  pool: Pool,
  walletId: string,
  query: { after: string; before: string; limit: number },
): Promise<FullEntry[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<EntryRow & { from_account: string; to_account: string; amount_micros: bigint }>(
      `select ${entryColumns}, from_account, to_account, amount_micros from pb.transfers
       where wallet_id = $1 and id > $2 and id < $3 order by id limit $4`,
      [walletId, query.after, query.before, query.limit],
    ),
  );
  return rows.map((row) => ({
    ...toEntry(row),
    fromAccount: row.from_account,
    toAccount: row.to_account,
    amountMicros: row.amount_micros,
  }));
}

const dayMs = 86_400_000;

/** An entry has the id of its search, whose timestamp is within a day of the booking time. */
export const maxLagMs = 1.1 * dayMs;

/** Greater than any id that can exist now. Keeps future partitions out of the query plan. */
export function upperIdBound(): string {
  return firstIdOf(new Date(Date.now() + maxLagMs));
}

/**
 * The wallet's balance at a moment. Subtracts entries from today's balance, one day per statement, because callers
 * usually ask for recent weeks. The first statement also reads the balance, so that both come from one snapshot, and
 * covers more than a day, because entries with ids up to a day old can still arrive.
 */
export async function readBalanceAt(pool: Pool, walletId: string, moment: Date): Promise<Micros> {
  let edge = Date.now() - maxLagMs;
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
  // A wallet has no entries older than itself; allow a day of clock skew.
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

// Receivables move between other accounts and do not change the wallet's balance.
export const signedAmount =
  "case when to_account = 'wallet' then amount_micros when from_account = 'wallet' then -amount_micros else 0 end";
const createdAtMicros = `to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
export const entryColumns = `id, kind, search_id, created_at, ${signedAmount} as amount,
  ${createdAtMicros} as created_at_micros`;

export interface EntryRow {
  id: string;
  kind: Entry["kind"];
  amount: Micros;
  search_id: string | null;
  created_at: Date;
  created_at_micros: string;
}

export function toEntry(row: EntryRow): Entry {
  const { id, kind, amount, search_id: requestId, created_at: createdAt, created_at_micros: createdAtMicros } = row;
  return { id, kind, amount, requestId, createdAt, createdAtMicros };
}
