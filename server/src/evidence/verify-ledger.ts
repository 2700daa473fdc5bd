import { createHash, type Hash } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { firstDigest, formatEntry, formatHour, type LedgerEntry } from "./ledger-lines.ts";
import { buildLevels, hashLeaf, hashRecordsLeaf, hashWalletLeaf, rootOf } from "./merkle.ts";
import { digestRecords, readRecords } from "./record-lines.ts";
import type { SignedRoots } from "./signed-roots.ts";

// Verifies the ledger against roots that were exported and signed with a key outside the database:
//
//   entries  ->  digest per wallet and hour  ->  root per hour  ->  signed root
//   records  ->  digest per hour  ------------------'
//
// Records are the list of changes and decided adjustments, with their reasons, operators and approvers.
// Each arrow is recomputed here. Stored digests of earlier hours are used as the start of a chain; each of them is
// part of the root of its own hour. Reads one day at a time, through cursors.

export interface Difference {
  /** The hour or day, if the difference belongs to one. */
  of: string;
  walletId?: string;
  what:
    | "signature"
    | "conflicting_roots"
    | "missing_root"
    | "chain"
    | "missing_hour"
    | "root"
    | "stored_root"
    | "digest"
    | "missing_entries"
    | "unknown_entries"
    | "sums"
    | "checkpoint"
    | "records"
    | "day_root";
  detail: string;
}

export interface VerifyOptions {
  /** Runs the work in a transaction. A transaction lasts for one day of the ledger. */
  inTransaction: <Result>(work: (db: Queryable) => Promise<Result>) => Promise<Result>;
  roots: SignedRoots;
  onDifference: (difference: Difference) => void;
}

export interface VerifiedLedger {
  hours: number;
  entries: number;
  differences: number;
  /** Hours before this one are checked by their digests only, because their entries are archived. */
  entriesSince: Date;
}

interface Hour {
  hour: Date;
  entries: bigint;
  wallets: bigint;
  root: Buffer | null;
  signed: string | null;
  recordsDigest: Buffer;
  /** That of the hour before. */
  previousRecordsDigest: Buffer | null;
}

type Report = (what: Difference["what"], of: string, detail: string, walletId?: string) => void;

export async function verifyLedger({ inTransaction, roots, onDifference }: VerifyOptions): Promise<VerifiedLedger> {
  const result = { hours: 0, entries: 0, differences: 0 };
  const report: Report = (what, of, detail, walletId) => {
    result.differences += 1;
    onDifference({ what, of, detail, ...(walletId !== undefined && { walletId }) });
  };
  for (const fault of roots.faults) report(fault.what, fault.of, fault.detail);
  const bounds = await inTransaction(readBounds);
  if (bounds.entriesSince.getTime() > Date.now() - minArchivedMs)
    report(
      "missing_entries",
      formatHour(bounds.entriesSince),
      "earlier entries are marked as archived, but are too young",
    );
  const unseen = new Set(roots.hours.keys());
  let previous: string | null = null;
  for (let day = bounds.firstDay; day < bounds.end; day = new Date(day.getTime() + dayMs)) {
    await inTransaction(async (db) => {
      const hours = await readHours(db, day);
      const recomputed = await recomputeDay(db, day, { ...bounds, report });
      const records = await readRecords(db, { day, firstHour: bounds.firstHour });
      for (const hour of hours) {
        const name = formatHour(hour.hour);
        unseen.delete(name);
        const found = recomputed.get(name) ?? { leaves: [], entries: 0 };
        const root = rootOf(buildLevels([...found.leaves, hashRecordsLeaf(hour.recordsDigest)])).toString("hex");
        const lines = records.get(name) ?? [];
        if (!digestRecords(name, hour.previousRecordsDigest ?? firstDigest, lines).equals(hour.recordsDigest))
          report("records", name, `the list of changes or adjustments changed; ${lines.length} were found`);
        checkHour(hour, { root, previous, roots, report });
        if (BigInt(found.leaves.length) !== hour.wallets) report("sums", name, "the number of wallets differs");
        previous = root;
        recomputed.delete(name);
        result.hours += 1;
        result.entries += found.entries;
      }
      for (const name of recomputed.keys()) report("missing_hour", name, "has digests or entries, but was not closed");
      await checkDay(db, day, { hours, roots, report });
    });
  }
  for (const name of unseen) report("missing_hour", name, "was signed, but is not in the database");
  await inTransaction((db) => checkEnds(db, bounds, report));
  return { ...result, entriesSince: bounds.entriesSince };
}

const dayMs = 86_400_000;
/**
 * pb.close_day refuses days of the last 35 days, and `entriesSince` is two days after the last archived day. Without this
 * limit, recent entries could be excluded by moving the boundary in the database.
 */
const minArchivedMs = 32 * dayMs;

interface Bounds {
  firstDay: Date;
  firstHour: Date;
  end: Date;
  entriesSince: Date;
}

/** An id can be 25 hours before the time of its entry, so the first retained day may be incomplete. */
async function readBounds(db: Queryable): Promise<Bounds> {
  const { rows } = await db.query<{ first: Date | null; last: Date | null; closed: Date | null; retained: Date }>(
    `select (select min(hour) from pb.ledger_hours) as first, (select max(hour) from pb.ledger_hours) as last,
       (select nullif(closed_before, '-infinity') from pb.ledger_watermark) as closed,
       (select (retained_since + interval '25 hours') at time zone 'utc' from pb.retention) as retained`,
  );
  const { first, last, closed, retained } = rows[0] ?? { first: null, last: null, closed: null, retained: new Date(0) };
  const firstHour = first ?? new Date(0);
  const firstDay = new Date(Math.floor(firstHour.getTime() / dayMs) * dayMs);
  const end = new Date(Math.max(closed?.getTime() ?? 0, last ? last.getTime() + 3_600_000 : 0));
  return { firstDay: first ? firstDay : end, firstHour, end, entriesSince: retained };
}

async function readHours(db: Queryable, day: Date): Promise<Hour[]> {
  const { rows } = await db.query<Hour>(
    `select h.hour, h.entries, h.wallets, h.root, h.signed, h.records_digest as "recordsDigest",
       p.records_digest as "previousRecordsDigest"
     from pb.ledger_hours h left join pb.ledger_hours p on p.hour = h.hour - interval '1 hour'
     where h.hour >= $1 and h.hour < $1::timestamptz + interval '1 day' order by h.hour`,
    [day],
  );
  return rows;
}

interface CheckHour {
  root: string;
  previous: string | null;
  roots: SignedRoots;
  report: Report;
}

/** Compares the root computed from the digests with the signed one. */
function checkHour(hour: Hour, { root, previous, roots, report }: CheckHour): void {
  const name = formatHour(hour.hour);
  const signed = roots.hours.get(name);
  if ((hour.root?.toString("hex") ?? root) !== root)
    report("stored_root", name, "the stored root is not that of the digests");
  if (!signed) {
    // Closed, but not signed yet. Earlier hours are part of the chain of later ones.
    if (roots.lastHour !== undefined && name < roots.lastHour) report("missing_root", name, "no root was exported");
    return;
  }
  if (signed.root !== root) report("root", name, `the signed root is ${signed.root}, the computed one ${root}`);
  if (signed.signed !== hour.signed) report("stored_root", name, "the stored signature is not the exported one");
  if (signed.previous !== previous) report("chain", name, "the root of the hour before is not the signed one");
  if (BigInt(signed.entries) !== hour.entries || BigInt(signed.wallets) !== hour.wallets)
    report("sums", name, "the number of entries or wallets is not the signed one");
}

async function checkDay(
  db: Queryable,
  day: Date,
  { hours, roots, report }: { hours: Hour[]; roots: SignedRoots; report: Report },
): Promise<void> {
  const name = formatHour(day).slice(0, 10);
  const signed = roots.days.get(name);
  const { rows } = await db.query<{ root: Buffer }>("select root from pb.ledger_days where day = $1", [name]);
  const stored = rows[0]?.root.toString("hex");
  if (!signed && stored === undefined) return;
  const root = rootOf(buildLevels(hours.map((hour) => hashLeaf(hour.root ?? firstDigest)))).toString("hex");
  if (stored !== root) report("day_root", name, "the stored root of the day is not that of its hours");
  if (signed ? signed.root !== root : name <= (roots.lastDay ?? ""))
    report("day_root", name, "the exported root of the day is not that of its hours");
}

interface Recomputed {
  leaves: Buffer[];
  entries: number;
}

interface DigestRow {
  hour: Date;
  walletId: string;
  entries: bigint;
  credited: bigint;
  debited: bigint;
  owed: bigint;
  digest: Buffer;
  previous: Buffer | null;
}

interface EntryRow extends LedgerEntry {
  hour: Date;
}

/** Merges the digests and the entries of a day, both in the order of hour and wallet. */
async function recomputeDay(
  db: Queryable,
  day: Date,
  { entriesSince, report }: { entriesSince: Date; report: Report },
): Promise<Map<string, Recomputed>> {
  const hours = new Map<string, Recomputed>();
  const digests = readCursor<DigestRow>(db, "verify_digests", digestsOf(day));
  const entries = readCursor<EntryRow>(db, "verify_entries", entriesOf(day, entriesSince));
  let [digest, entry] = [await digests.next(), await entries.next()];
  for (;;) {
    const [digestKey, entryKey] = [keyOf(digest.value), keyOf(entry.value)];
    const key = digestKey < entryKey ? digestKey : entryKey;
    if (key === endKey) break;
    const stored = digestKey === key && digest.value ? digest.value : undefined;
    const [name = "", walletId = ""] = key.split(" ");
    const found = hours.get(name) ?? { leaves: [], entries: 0 };
    hours.set(name, found);
    const sums = startSums(name, stored);
    while (entry.value && keyOf(entry.value) === key) {
      addEntry(sums, entry.value);
      entry = await entries.next();
    }
    found.entries += sums.entries;
    if (stored) {
      found.leaves.push(hashWalletLeaf(walletId, stored.digest));
      digest = await digests.next();
    }
    if (name >= formatHour(entriesSince))
      compareSums(sums, stored, (what, detail) => report(what, name, detail, walletId));
  }
  return hours;
}

interface Sums {
  hash: Hash;
  entries: number;
  credited: bigint;
  debited: bigint;
  owed: bigint;
}

/** The stored number of entries is hashed first. If it is wrong, the digest differs. */
function startSums(hour: string, stored: DigestRow | undefined): Sums {
  const hash = createHash("sha256").update(stored?.previous ?? firstDigest);
  return { hash: hash.update(`${hour} ${stored?.entries}\n`), entries: 0, credited: 0n, debited: 0n, owed: 0n };
}

function addEntry(sums: Sums, entry: EntryRow): void {
  sums.hash.update(formatEntry(entry));
  sums.entries += 1;
  const { amountMicros: amount, fromAccount, toAccount } = entry;
  if (toAccount === "wallet") sums.credited += amount;
  if (fromAccount === "wallet") sums.debited += amount;
  if (fromAccount === "receivable") sums.owed += amount;
  if (toAccount === "receivable") sums.owed -= amount;
}

function compareSums(
  sums: Sums,
  stored: DigestRow | undefined,
  report: (what: Difference["what"], detail: string) => void,
): void {
  if (!stored) return report("unknown_entries", `${sums.entries} entries are not part of a digest`);
  if (sums.entries === 0) return report("missing_entries", `${stored.entries} entries are missing`);
  if (!sums.hash.digest().equals(stored.digest))
    report("digest", `the digest of ${stored.entries} entries is not that of the ${sums.entries} found`);
  const areEqual = sums.credited === stored.credited && sums.debited === stored.debited && sums.owed === stored.owed;
  if (!areEqual) report("sums", "the sums of the hour differ from its entries");
}

/** Greater than every key. */
const endKey = "~";

/** "<hour> <wallet>". Both parts have a fixed length, so keys sort by hour and then by wallet, as the queries do. */
function keyOf(row: DigestRow | EntryRow | void): string {
  return row ? `${formatHour(row.hour)} ${row.walletId}` : endKey;
}

function digestsOf(day: Date): string {
  return `select h.hour, h.wallet_id as "walletId", h.entries, h.credited_micros as credited, h.debited_micros as debited,
      h.owed_micros as owed, h.digest, p.digest as previous
    from pb.wallet_hours h left join lateral (
      select p.digest from pb.wallet_hours p where p.wallet_id = h.wallet_id and p.hour < h.hour order by p.hour desc limit 1
    ) p on true
    where h.hour >= '${day.toISOString()}' and h.hour < timestamptz '${day.toISOString()}' + interval '1 day'
    order by h.hour, h.wallet_id`;
}

function entriesOf(day: Date, since: Date): string {
  const from = new Date(Math.max(day.getTime(), since.getTime())).toISOString();
  return `select date_trunc('hour', created_at, 'utc') as hour, id, wallet_id as "walletId", kind,
      from_account as "fromAccount", to_account as "toAccount", amount_micros as "amountMicros",
      (extract(epoch from created_at) * 1000000)::bigint as "createdAtMicros", search_id as "searchId"
    from pb.transfers
    where created_at >= '${from}' and created_at < timestamptz '${day.toISOString()}' + interval '1 day'
      and created_at < (select closed_before from pb.ledger_watermark)
    order by 1, wallet_id, created_at, id`;
}

/** Reads 5,000 rows at a time. Needs a transaction. */
async function* readCursor<Row extends object>(db: Queryable, name: string, sql: string): AsyncGenerator<Row, void> {
  await db.query(`declare ${name} no scroll cursor for ${sql}`);
  for (;;) {
    const { rows } = await db.query<Row>(`fetch 5000 from ${name}`);
    yield* rows;
    if (rows.length < 5_000) break;
  }
  await db.query(`close ${name}`);
}

/** Checks outside of any day: entries before the first hour, the end of closed time, and the head of each chain. */
async function checkEnds(db: Queryable, { firstHour, end, entriesSince }: Bounds, report: Report): Promise<void> {
  const { rows: ends } = await db.query<{ early: boolean; closed: Date | null }>(
    `select exists (select from pb.transfers where created_at >= $2 and created_at < $1) as early,
       (select nullif(closed_before, '-infinity') from pb.ledger_watermark) as closed`,
    [firstHour, entriesSince],
  );
  if (ends[0]?.early) report("unknown_entries", formatHour(firstHour), "entries exist before the first closed hour");
  if ((ends[0]?.closed ?? end).getTime() !== end.getTime())
    report("missing_hour", formatHour(end), "the end of closed time is not that of the last hour");
  const { rows } = await db.query<{ id: string }>(
    `select c.wallet_id as id from pb.wallet_checkpoints c left join lateral (
       select h.hour, h.digest from pb.wallet_hours h where h.wallet_id = c.wallet_id order by h.hour desc limit 1
     ) h on true
     where c.hour is distinct from h.hour or c.digest <> coalesce(h.digest, decode(repeat('00', 32), 'hex'))
     order by 1 limit 100`,
  );
  for (const { id } of rows) report("checkpoint", "", "the head of the wallet's chain differs", id);
}
