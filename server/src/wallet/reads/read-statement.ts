import { snapshotAsTenant } from "../db/as-tenant.ts";
import type { Pool, Queryable } from "../db/pool.ts";
import { firstIdOf } from "../lib/first-id-of.ts";
import type { Micros } from "../lib/money.ts";
import {
  beyondNewest,
  type Entry,
  type EntryRow,
  entryColumns,
  mostLateMs,
  readBalanceAt,
  signedAmount,
  toEntry,
} from "./read-wallet.ts";

// The entries with the balance after each, which is what all entries up to it sum to. Entries stand in the order of their
// ids, and a search's entry bears the id it was sent with: while one page is read, entries may appear behind it. So the
// first page remembers how far the books went, later pages leave out what was booked since, and all of them together are
// the books of one moment. All bookings of a wallet happen under its lock, each dated after the one before: "booked
// since" is "dated later than the last that the first page could see".

/** Where a page ended and what the next one must know. */
export interface StatementPlace {
  id: string;
  /** The balance after the next entry. */
  balance: Micros;
  /** When the last entry was booked that the first page could see. */
  bookedMicros: bigint;
}

export interface StatementWanted {
  place?: StatementPlace | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  most: number;
}

export interface Statement {
  entries: (Entry & { balance: Micros })[];
  next: StatementPlace | undefined;
}

/** Newest first. */
export async function readStatement(pool: Pool, walletId: string, wanted: StatementWanted): Promise<Statement> {
  const { place, to, most } = wanted;
  const isOld = to !== undefined && to.getTime() < Date.now() - mostLateMs;
  // What is so old does not change any more: it needs no common snapshot, and may take many statements.
  const oldBalance = isOld && !place ? await readBalanceAt(pool, walletId, to) : undefined;
  return snapshotAsTenant(pool, walletId, async (db) => {
    const before = place?.id ?? (to ? firstIdOf(to) : beyondNewest());
    const rows = await readRows(db, walletId, { ...wanted, before, bookedMicros: place?.bookedMicros });
    let balance = place?.balance ?? oldBalance ?? (await readBalanceBefore(db, walletId, before));
    const entries = rows.slice(0, most).map((row) => {
      const entry = { ...toEntry(row), balance };
      balance -= entry.amount;
      return entry;
    });
    const last = entries.at(-1);
    if (!last || rows.length <= most) return { entries, next: undefined };
    const bookedMicros = place?.bookedMicros ?? (await readLastBooked(db, walletId));
    return { entries, next: { id: last.id, balance, bookedMicros } };
  });
}

/** Ids from one on and below another, so many at most. */
interface Range {
  before: string;
  since: string;
  most: number;
}

const recentMs = 7 * 86_400_000;

/**
 * A statement is planned for every day it may look at, and planning for all that are kept takes far longer than reading.
 * Nearly always the days just before are enough.
 */
async function recentFirst<Row>(range: Range, read: (range: Range) => Promise<Row[]>): Promise<Row[]> {
  const edge = firstIdOf(new Date(Math.max(0, timeOf(range.before) - recentMs)));
  if (edge <= range.since) return read(range);
  const recent = await read({ ...range, since: edge });
  if (recent.length >= range.most) return recent;
  return [...recent, ...(await read({ ...range, before: edge, most: range.most - recent.length }))];
}

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

const booked = "(extract(epoch from created_at) * 1000000)::bigint";

async function readRows(
  db: Queryable,
  walletId: string,
  wanted: { before: string; bookedMicros: bigint | undefined; from?: Date | undefined; most: number },
): Promise<EntryRow[]> {
  const bookedMicros = wanted.bookedMicros === undefined ? null : String(wanted.bookedMicros);
  // One more than asked for tells whether there is a next page.
  const whole = { before: wanted.before, since: firstIdOf(wanted.from ?? new Date(0)), most: wanted.most + 1 };
  return recentFirst(whole, async ({ before, since, most }) => {
    const { rows } = await db.query<EntryRow>(
      `select ${entryColumns} from pb.transfers
       where wallet_id = $1 and id < $2 and id >= $3 and 'wallet' in (from_account, to_account)
         and ($4::bigint is null or ${booked} <= $4)
       order by id desc limit $5`,
      [walletId, before, since, bookedMicros, most],
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
 * A search is charged within a minute of being sent, so the entry that was booked last has an id of at most a minute
 * before the newest; another minute for the clocks of servers to differ.
 */
async function readLastBooked(db: Queryable, walletId: string): Promise<bigint> {
  const whole = { before: beyondNewest(), since: firstIdOf(new Date(0)), most: 1 };
  const [newest] = await recentFirst(whole, async ({ before, since, most }) => {
    const { rows } = await db.query<{ id: string }>(
      "select id from pb.transfers where wallet_id = $1 and id < $2 and id >= $3 order by id desc limit $4",
      [walletId, before, since, most],
    );
    return rows;
  });
  const sentMs = newest ? timeOf(newest.id) : 0;
  const { rows } = await db.query<{ at: bigint }>(
    `select max(${booked}) as at from pb.transfers where wallet_id = $1 and id >= $2`,
    [walletId, firstIdOf(new Date(Math.max(0, sentMs - 120_000)))],
  );
  return rows[0]?.at ?? 0n;
}
