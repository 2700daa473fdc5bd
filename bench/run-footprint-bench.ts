import { randomInt, randomUUIDv7 } from "node:crypto";
import type { Pool } from "../server/src/db/pool.ts";
import { type Checkout, openCheckout, type Search, type Variant } from "./checkout.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import type { BenchOptions } from "./read-options.ts";
import { connect, startPostgres } from "./start-postgres.ts";

// Bytes that a search costs on disk and in WAL. The number of searches is fixed instead of the time, so that record bytes do
// not depend on the machine. Page images depend on the wallets, on the searches between two checkpoints and on chance.

const perStatement = 10;
/**
 * Autovacuum would make the results depend on time. A vacuum before each checkpoint replaces it, and its WAL is counted. WAL is
 * kept until it is read.
 */
const settings = ["autovacuum=off", "checkpoint_timeout=1d", "wal_keep_size=8GB"];

interface Footprint {
  recordBytes: number;
  imageBytes: number;
  tableBytes: number;
  indexBytes: number;
  /** Table and index of claims with their stored answers, which are part of the two above. */
  claimBytes: number;
  updates: number;
  hotUpdates: number;
}

export async function runFootprintBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const postgres = await startPostgres(harness, settings);
  console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
  const admin = connect(postgres.adminUrl, 1);
  const checkout = await openCheckout(postgres.adminUrl, options.wallets);
  const perCheckpoint = options.isQuick ? 2_000 : 15_000;
  const checkpoints = Math.max(3, options.rounds);
  try {
    await admin.query("create extension pg_walinspect");
    console.log(
      `Load      ${formatNumber(options.wallets)} wallets, ${perStatement} searches per statement, ${formatNumber(perCheckpoint)} per checkpoint, ${checkpoints} checkpoints\n`,
    );
    const rows: string[][] = [];
    const results: Footprint[] = [];
    for (const variant of ["plain", "idempotent"] as const) {
      // Until every page of the wallets has the free space of a page in use.
      await driveToCheckpoint(checkout, admin, variant, perCheckpoint, options.wallets);
      const before = await readFootprint(checkout, admin);
      for (let done = 0; done < checkpoints; done += 1)
        await driveToCheckpoint(checkout, admin, variant, perCheckpoint, options.wallets);
      const after = await readFootprint(checkout, admin);
      const each = await subtract(admin, after, before, perCheckpoint * checkpoints);
      const bytes = [each.recordBytes, each.imageBytes, each.tableBytes, each.indexBytes, each.claimBytes];
      console.log(await formatRecords(admin, variant, [before.lsn, after.lsn], perCheckpoint * checkpoints));
      rows.push([variant, ...bytes.map(formatNumber), (each.hotUpdates / each.updates).toFixed(3)]);
      results.push(each);
    }
    const head = ["bytes per search", "WAL records", "WAL images", "tables", "indexes", "of these claims", "HOT share"];
    console.log(formatTable(head, rows));
    console.log(await checkout.checkCharges(2 * perCheckpoint * (checkpoints + 1)));
    const [plain, idempotent] = results as [Footprint, Footprint];
    return {
      wal_bytes: Math.round(plain.recordBytes),
      wal_bytes_idempotent: Math.round(idempotent.recordBytes),
      table_bytes: Math.round(plain.tableBytes),
      index_bytes: Math.round(plain.indexBytes),
      claim_bytes: Math.round(idempotent.claimBytes),
      hot_share: Number((plain.hotUpdates / plain.updates).toFixed(3)),
    };
  } finally {
    await Promise.all([checkout.close(), admin.end()]);
  }
}

async function driveToCheckpoint(
  checkout: Checkout,
  admin: Pool,
  variant: Variant,
  searches: number,
  wallets: number,
): Promise<void> {
  for (let sent = 0; sent < searches; sent += perStatement) {
    const batch = Array.from({ length: perStatement }, (): Search => {
      const search = checkout.newSearch(variant, randomInt(wallets));
      return { ...search, searchId: randomUUIDv7() };
    });
    await checkout.hold(batch);
    await checkout.capture(batch);
  }
  await admin.query("vacuum");
  await admin.query("checkpoint");
}

/** Where the record bytes come from: record types and relations with at least 5 bytes per search. A partition counts as its table. */
async function formatRecords(
  admin: Pool,
  variant: Variant,
  [start, end]: [string, string],
  searches: number,
): Promise<string> {
  const { rows } = await admin.query<{ type: string; relation: string; bytes: number; records: number }>(
    `select r.resource_manager || ' ' || r.record_type as type, coalesce(regexp_replace(c.relname, '_\\d{8}', ''), '') as relation,
       sum(r.record_length - r.fpi_length)::float / $3 as bytes, count(*)::float / $3 as records
     from pg_get_wal_records_info($1, $2) r
     left join pg_class c on c.relfilenode = substring(r.block_ref from 'rel \\d+/\\d+/(\\d+)')::oid
     group by 1, 2 having sum(r.record_length - r.fpi_length) > 5 * $3 order by 3 desc`,
    [start, end, searches],
  );
  const cells = rows.map(({ type, relation, bytes, records }) => [
    type,
    relation,
    formatNumber(bytes),
    records.toFixed(2),
  ]);
  return `${formatTable([`WAL of ${variant}`, "relation", "bytes", "records"], cells)}\n`;
}

interface Snapshot extends Omit<Footprint, "recordBytes" | "imageBytes"> {
  lsn: string;
}

async function readFootprint(checkout: Checkout, admin: Pool): Promise<Snapshot> {
  await checkout.flushStatistics();
  const { rows } = await admin.query<Snapshot>(
    `select pg_current_wal_flush_lsn()::text as lsn, sizes.*, updates.*
     from (
       select sum(pg_table_size(c.oid))::float as "tableBytes", sum(pg_indexes_size(c.oid))::float as "indexBytes",
         sum(pg_total_relation_size(c.oid)) filter (where c.relname = 'idempotency')::float as "claimBytes"
       from pg_class c where c.relnamespace = 'pb'::regnamespace and c.relkind = 'r'
     ) sizes, (
       select sum(n_tup_upd)::float as updates, sum(n_tup_hot_upd)::float as "hotUpdates"
       from pg_stat_user_tables where schemaname = 'pb'
     ) updates`,
  );
  return rows[0] as Snapshot;
}

/** The difference per search. */
async function subtract(admin: Pool, after: Snapshot, before: Snapshot, searches: number): Promise<Footprint> {
  const { rows } = await admin.query<{ records: number; images: number }>(
    `select sum(record_size)::float as records, sum(fpi_size)::float as images from pg_get_wal_stats($1, $2)`,
    [before.lsn, after.lsn],
  );
  const { records = 0, images = 0 } = rows[0] ?? {};
  const perSearch = (name: Exclude<keyof Snapshot, "lsn">): number => (after[name] - before[name]) / searches;
  return {
    recordBytes: records / searches,
    imageBytes: images / searches,
    tableBytes: perSearch("tableBytes"),
    indexBytes: perSearch("indexBytes"),
    claimBytes: perSearch("claimBytes"),
    updates: perSearch("updates"),
    hotUpdates: perSearch("hotUpdates"),
  };
}
