import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Pool } from "../../db/pool.ts";
import { csvLine } from "../../lib/csv-line.ts";

// Old days leave the database in three steps:
//
//   archived    each table's rows of the day are written to a compressed CSV file with a checksum, and fsynced
//   closed      pb.close_day stores the sums of the day and advances `retained_since`, in one transaction
//   dropped     its partitions are detached concurrently and dropped, so no search waits for the lock
//
// A run killed at any point is resumed by the next: archives are rewritten, a closed day is not closed twice, and rows of
// a closed day are ignored whether or not they have been dropped.

export interface RetentionOptions {
  /** Number of days to keep. */
  days: number;
  /** Archive directory. */
  folder: string;
}

export interface ClosedDay {
  day: string;
  searches: number;
  transfers: number;
}

/** Closes and drops days beyond the retention, oldest first. Throws unless a clean reconciliation ran within a day. */
export async function dropOldDays(
  owner: Pool,
  { days, folder }: RetentionOptions,
  signal: AbortSignal,
): Promise<ClosedDay[]> {
  await assertReconciled(owner);
  await mkdir(folder, { recursive: true });
  const closed: ClosedDay[] = [];
  for (const day of await listOldDays(owner, days)) {
    if (signal.aborted) break;
    const searches = await archive(owner, { table: "searches", day, folder });
    const transfers = await archive(owner, { table: "transfers", day, folder });
    await owner.query("select pb.close_day($1, $2, $3, $4, $5)", [
      day,
      searches.rows,
      transfers.rows,
      searches.sum,
      transfers.sum,
    ]);
    closed.push({ day, searches: searches.rows, transfers: transfers.rows });
  }
  await dropClosedPartitions(owner);
  await deleteClosedHours(owner, signal);
  return closed;
}

async function assertReconciled(owner: Pool): Promise<void> {
  const { rows } = await owner.query<{ clean: boolean }>(
    `select differences = 0 and at > clock_timestamp() - interval '1 day' as clean
     from pb.reconciliations order by at desc limit 1`,
  );
  if (!rows[0]?.clean) throw new Error("no clean reconciliation within the last day: no day was dropped");
}

async function listOldDays(owner: Pool, days: number): Promise<string[]> {
  const { rows } = await owner.query<{ day: string }>(
    `select substr(name, 10, 4) || '-' || substr(name, 14, 2) || '-' || substr(name, 16, 2) as day
     from (select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'pb.searches'::regclass) p, pb.retention r
     where name >= 'searches_' || to_char(r.retained_since, 'YYYYMMDD')
       and name < 'searches_' || to_char(pb.utc_day(clock_timestamp()) - $1::integer, 'YYYYMMDD')
     order by name`,
    [days],
  );
  return rows.map(({ day }) => day);
}

interface Archived {
  rows: number;
  /** SHA-256 of the compressed file. */
  sum: string;
}

async function archive(
  owner: Pool,
  { table, day, folder }: { table: "searches" | "transfers"; day: string; folder: string },
): Promise<Archived> {
  const name = `${table}-${day}.csv.gz`;
  const path = join(folder, name);
  let rows = 0;
  async function* lines(): AsyncGenerator<string> {
    const columns = await columnsOf(owner, table);
    yield csvLine(columns);
    for await (const page of readDay(owner, { table, day, columns })) {
      rows += page.length;
      yield page.map((row) => csvLine(columns.map((column) => row[column] ?? ""))).join("");
    }
  }
  await pipeline(Readable.from(lines()), createGzip(), createWriteStream(`${path}.part`));
  // Rows may be dropped only after their archive is durable.
  await syncFile(`${path}.part`);
  const hash = createHash("sha256");
  await pipeline(createReadStream(`${path}.part`), hash);
  const sum = hash.digest("hex");
  await writeFile(`${path}.sha256`, `${sum}  ${name}\n`, { flush: true });
  await rename(`${path}.part`, path);
  await syncFile(folder);
  return { rows, sum };
}

/** Without the ids of end users, which no financial record needs. */
async function columnsOf(owner: Pool, table: string): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = ('pb.' || $1)::regclass and attnum > 0 and not attisdropped and attname <> 'end_user' order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
}

const pageSize = 5_000;

/** Reads values in PostgreSQL's text format, so that they can be restored exactly. */
async function* readDay(
  owner: Pool,
  { table, day, columns }: { table: "searches" | "transfers"; day: string; columns: string[] },
): AsyncGenerator<Record<string, string | null>[]> {
  const texts = columns.map((column) => `${column}::text`).join(", ");
  let after: string | null = null;
  for (;;) {
    const { rows }: { rows: Record<string, string | null>[] } = await owner.query(
      `select ${texts} from pb.${table}
       where id >= pb.uuid_floor($1::date::timestamp at time zone 'utc')
         and id < pb.uuid_floor(($1::date + 1)::timestamp at time zone 'utc')
         and ($2::uuid is null or id > $2) order by id limit ${pageSize}`,
      [day, after],
    );
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)?.["id"] ?? null;
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Detaching concurrently waits for readers without blocking others. An interrupted detach is finalized. */
async function dropClosedPartitions(owner: Pool): Promise<void> {
  const { rows } = await owner.query<{ parent: string; partition: string; is_attached: boolean; is_pending: boolean }>(
    "select * from pb.partitions_to_drop()",
  );
  for (const { parent, partition, is_attached: isAttached, is_pending: isPending } of rows) {
    const mode = isPending ? "finalize" : "concurrently";
    if (isAttached) await owner.query(`alter table pb.${parent} detach partition pb.${partition} ${mode}`);
    await owner.query(`drop table pb.${partition}`);
  }
}

/** Hourly usage is kept as long as the searches; daily usage is kept forever. */
async function deleteClosedHours(owner: Pool, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { rowCount } = await owner.query(
      `delete from pb.usage_hours where ctid = any (array(
         select u.ctid from pb.usage_hours u, pb.retention r
         where u.hour < r.retained_since::timestamp at time zone 'utc' limit 10000
       ))`,
    );
    if ((rowCount ?? 0) === 0) return;
  }
}
