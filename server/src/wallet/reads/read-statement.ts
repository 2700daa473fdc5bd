import { snapshotAsTenant } from "../../db/as-tenant.ts";
import type { Pool, Queryable } from "../../db/pool.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import type { Micros } from "../../lib/money.ts";
import { timeOfId } from "../../lib/time-of-id.ts";
import {
  type Entry,
  type EntryRow,
  entryColumns,
  maxLagMs,
  readBalanceAt,
  readEntries,
  signedAmount,
  toEntry,
  upperIdBound,
} from "./read-wallet.ts";

// Entries with a running balance, in id order. A capture has the id its search was sent with, so new entries can appear
// between older ones while a caller pages through. To keep all pages one consistent snapshot, the cursor carries the
// booking time of the last entry that the first page could see, and later pages skip entries booked after it. Bookings
// of a wallet happen under its lock with increasing timestamps, so that comparison is exact.

/** Cursor state carried from one page to the next. */
export interface StatementPosition {
  id: string;
  /** The balance after the next entry. */
  balance: Micros;
  /** Booking time of the last entry visible to the first page. */
  bookedMicros: bigint;
}

export interface StatementQuery {
  position?: StatementPosition | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  limit: number;
}

export interface Statement {
  entries: (Entry & { balance: Micros })[];
  next: StatementPosition | undefined;
}

/** Newest first. */
export async function readStatement(pool: Pool, walletId: string, query: StatementQuery): Promise<Statement> {
  const { position, to, limit } = query;
  const isOld = to !== undefined && to.getTime() < Date.now() - maxLagMs;
  // Entries this old no longer change, so their balance can be computed outside the snapshot, in several statements.
  const oldBalance = isOld && !position ? await readBalanceAt(pool, walletId, to) : undefined;
  return snapshotAsTenant(pool, walletId, async (db) => {
    const before = position?.id ?? (to ? firstIdOf(to) : upperIdBound());
    const rows = await readRows(db, walletId, { ...query, before, bookedMicros: position?.bookedMicros });
    let balance = position?.balance ?? oldBalance ?? (await readBalanceBefore(db, walletId, before));
    const entries = rows.slice(0, limit).map((row) => {
      const entry = { ...toEntry(row), balance };
      balance -= entry.amount;
      return entry;
    });
    const last = entries.at(-1);
    if (!last || rows.length <= limit) return { entries, next: undefined };
    const bookedMicros = position?.bookedMicros ?? (await readLastBooked(db, walletId));
    return { entries, next: { id: last.id, balance, bookedMicros } };
  });
}

/** The charge and refund of a search, newest first, with the same balance as in the statement. */
export async function readEntriesOfSearch(pool: Pool, walletId: string, requestId: string): Promise<Entry[]> {
  const entries = await readEntries(pool, walletId, { requestId, limit: 10 });
  const withBalance: Entry[] = [];
  for (const entry of entries) {
    const ms = timeOfId(entry.id);
    const sameMs = { from: new Date(ms), to: new Date(ms + 1), limit: 1_000 };
    const statement = await readStatement(pool, walletId, sameMs);
    withBalance.push(statement.entries.find(({ id }) => id === entry.id) ?? entry);
  }
  return withBalance;
}

/** Ids in [since, before). */
interface Range {
  before: string;
  since: string;
  limit: number;
}

const recentMs = 7 * 86_400_000;

/**
 * Reads the last week first. Planning a statement over every daily partition takes far longer than running it, and the
 * last week is nearly always enough.
 */
async function recentFirst<Row>(range: Range, read: (range: Range) => Promise<Row[]>): Promise<Row[]> {
  const edge = firstIdOf(new Date(Math.max(0, timeOfId(range.before) - recentMs)));
  if (edge <= range.since) return read(range);
  const recent = await read({ ...range, since: edge });
  if (recent.length >= range.limit) return recent;
  return [...recent, ...(await read({ ...range, before: edge, limit: range.limit - recent.length }))];
}

const booked = "(extract(epoch from created_at) * 1000000)::bigint";

async function readRows(
  db: Queryable,
  walletId: string,
  query: { before: string; bookedMicros: bigint | undefined; from?: Date | undefined; limit: number },
): Promise<EntryRow[]> {
  const bookedMicros = query.bookedMicros === undefined ? null : String(query.bookedMicros);
  // One extra row shows whether there is a next page.
  const whole = { before: query.before, since: firstIdOf(query.from ?? new Date(0)), limit: query.limit + 1 };
  return recentFirst(whole, async ({ before, since, limit }) => {
    const { rows } = await db.query<EntryRow>(
      `select ${entryColumns} from pb.transfers
       where wallet_id = $1 and id < $2 and id >= $3 and 'wallet' in (from_account, to_account)
         and ($4::bigint is null or ${booked} <= $4)
       order by id desc limit $5`,
      [walletId, before, since, bookedMicros, limit],
    );
    return rows;
  });
}

async function readBalanceBefore(db: Queryable, walletId: string, before: string): Promise<Micros> {
  const { rows } = await db.query<{ balance: Micros }>(
    `select credited_micros - debited_micros - (
       select coalesce(sum(${signedAmount}), 0)::bigint from pb.transfers where wallet_id = $1 and id >= $2
     ) as balance
     from pb.wallets where id = $1`,
    [walletId, before],
  );
  return rows[0]?.balance ?? 0n;
}

/**
 * A search is charged within a minute of being sent, so the last booked entry has an id at most a minute older than the
 * newest id. One more minute allows for clock skew between servers.
 */
async function readLastBooked(db: Queryable, walletId: string): Promise<bigint> {
  const whole = { before: upperIdBound(), since: firstIdOf(new Date(0)), limit: 1 };
  const [newest] = await recentFirst(whole, async ({ before, since, limit }) => {
    const { rows } = await db.query<{ id: string }>(
      "select id from pb.transfers where wallet_id = $1 and id < $2 and id >= $3 order by id desc limit $4",
      [walletId, before, since, limit],
    );
    return rows;
  });
  const sentMs = newest ? timeOfId(newest.id) : 0;
  const { rows } = await db.query<{ at: bigint }>(
    `select max(${booked}) as at from pb.transfers where wallet_id = $1 and id >= $2`,
    [walletId, firstIdOf(new Date(Math.max(0, sentMs - 120_000)))],
  );
  return rows[0]?.at ?? 0n;
}
