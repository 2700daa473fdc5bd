import type { Pool } from "../server/src/db/pool.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { Measured } from "./measure-growth.ts";
import type { Growth } from "./seed-growth.ts";

export interface GrowthStep extends Growth {
  measured: Measured;
}

/** On the disk. */
export async function readSizes(owner: Pool): Promise<string> {
  const { rows } = await owner.query<{ sizes: string }>(
    `with tables as (
       select regexp_replace(relname, '_[0-9]{8}$', '') as name, count(*) as count,
         sum(pg_table_size(oid)) as rows, sum(pg_indexes_size(oid)) as indexes
       from pg_class where relnamespace = 'pb'::regnamespace and relkind = 'r' group by 1
     )
     select string_agg(
       format('%s %s + %s of indexes', name, pg_size_pretty(rows), pg_size_pretty(indexes)), ', ' order by rows + indexes desc
     ) || format('; all %s', pg_size_pretty(pg_database_size(current_database()))) as sizes
     from tables where name in ('wallets', 'keys', 'payments', 'searches', 'transfers')`,
  );
  return rows[0]?.sizes ?? "";
}

export function reportGrowth(steps: readonly GrowthStep[]): Record<string, number> {
  const rows = steps.map((step) => {
    const { everyone, oneWallet, withoutImages, keyMs, entriesMs } = step.measured;
    return [
      `${formatNumber(step.wallets)} / ${formatNumber(step.rows)}`,
      formatNumber(everyone.perSecond),
      everyone.postgresUs.toFixed(1),
      overFirst(steps, step, "everyone").toFixed(2),
      oneWallet.postgresUs.toFixed(1),
      overFirst(steps, step, "oneWallet").toFixed(2),
      ...[everyone, withoutImages, oneWallet].map((drive) => formatNumber(drive.walBytes)),
      ...[keyMs, entriesMs].map((ms) => ms.toFixed(2)),
    ];
  });
  console.log("\nOne search: of any wallet, or always of the same one (one). CPU is PostgreSQL's.");
  const head = ["wallets / rows", "a second", "CPU us", "over", "one us", "over", "WAL B", "no images", "one"];
  console.log(formatTable([...head, "key ms", "entries ms"], rows));
  return toFigures(steps);
}

function overFirst(steps: readonly GrowthStep[], step: GrowthStep, name: "everyone" | "oneWallet"): number {
  return step.measured[name].postgresUs / (steps[0]?.measured[name].postgresUs ?? 0);
}

/** Of the first step and the last, what the last is to the first, and the CPU of each. */
function toFigures(steps: readonly GrowthStep[]): Record<string, number> {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) throw new Error("nothing was measured");
  const { measured } = last;
  return {
    wallets: last.wallets,
    rows: last.rows,
    first_cpu_us: round(first.measured.everyone.postgresUs),
    cpu_us: round(measured.everyone.postgresUs),
    cpu_over_first: round(overFirst(steps, last, "everyone")),
    one_wallet_cpu_us: round(measured.oneWallet.postgresUs),
    one_wallet_cpu_over_first: round(overFirst(steps, last, "oneWallet")),
    wal_bytes: Math.round(measured.everyone.walBytes),
    most_wal_bytes_without_images: Math.round(Math.max(...steps.map((step) => step.measured.withoutImages.walBytes))),
    key_ms: round(measured.keyMs),
    entries_ms: round(measured.entriesMs),
    ...Object.fromEntries(
      steps.map(({ wallets, rows, measured }) => [
        `cpu_us_at_${wallets}_wallets_${rows}_rows`,
        round(measured.everyone.postgresUs),
      ]),
    ),
  };
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
