import type { Pool } from "../server/src/db/pool.ts";
import { formatNumber, formatTable } from "./format-table.ts";
import type { GrowthResult } from "./measure-growth.ts";
import type { Growth } from "./seed-growth.ts";

export interface GrowthStep extends Growth {
  result: GrowthResult;
}

/** Sizes on disk. */
export async function readSizes(owner: Pool): Promise<string> {
  const { rows } = await owner.query<{ sizes: string }>(
    `with tables as (
       select regexp_replace(relname, '_[0-9]{8}$', '') as name, count(*) as count,
         sum(pg_table_size(oid)) as rows, sum(pg_indexes_size(oid)) as indexes
       from pg_class where relnamespace = 'pb'::regnamespace and relkind = 'r' group by 1
     )
     select string_agg(
       format('%s %s + %s indexes', name, pg_size_pretty(rows), pg_size_pretty(indexes)), ', ' order by rows + indexes desc
     ) || format('; total %s', pg_size_pretty(pg_database_size(current_database()))) as sizes
     from tables where name in ('wallets', 'keys', 'payments', 'searches', 'transfers')`,
  );
  return rows[0]?.sizes ?? "";
}

export function reportGrowth(steps: readonly GrowthStep[]): Record<string, number> {
  const rows = steps.map((step) => {
    const { allWallets, oneWallet, withoutImages, keyMs, entriesMs } = step.result;
    return [
      `${formatNumber(step.wallets)} / ${formatNumber(step.rows)}`,
      formatNumber(allWallets.perSecond),
      allWallets.postgresUs.toFixed(1),
      ratioToFirst(steps, step, "allWallets").toFixed(2),
      oneWallet.postgresUs.toFixed(1),
      ratioToFirst(steps, step, "oneWallet").toFixed(2),
      ...[allWallets, withoutImages, oneWallet].map((drive) => formatNumber(drive.walBytes)),
      ...[keyMs, entriesMs].map((ms) => ms.toFixed(2)),
    ];
  });
  console.log(
    "\nPer search, with random wallets or one fixed wallet (one). CPU is PostgreSQL's; ratios are to the first row.",
  );
  const head = ["wallets / rows", "per second", "CPU us", "ratio", "one us", "ratio", "WAL B", "no images", "one"];
  console.log(formatTable([...head, "key ms", "entries ms"], rows));
  return toFigures(steps);
}

function ratioToFirst(steps: readonly GrowthStep[], step: GrowthStep, name: "allWallets" | "oneWallet"): number {
  return step.result[name].postgresUs / (steps[0]?.result[name].postgresUs ?? 0);
}

/** Results of the last step, its ratio to the first, and the CPU time of each step. */
function toFigures(steps: readonly GrowthStep[]): Record<string, number> {
  const [first, last] = [steps[0], steps.at(-1)];
  if (!first || !last) throw new Error("no measurements");
  const { result } = last;
  return {
    wallets: last.wallets,
    rows: last.rows,
    first_cpu_us: round(first.result.allWallets.postgresUs),
    cpu_us: round(result.allWallets.postgresUs),
    cpu_over_first: round(ratioToFirst(steps, last, "allWallets")),
    one_wallet_cpu_us: round(result.oneWallet.postgresUs),
    one_wallet_cpu_over_first: round(ratioToFirst(steps, last, "oneWallet")),
    wal_bytes: Math.round(result.allWallets.walBytes),
    max_wal_bytes_without_images: Math.round(Math.max(...steps.map((step) => step.result.withoutImages.walBytes))),
    key_ms: round(result.keyMs),
    entries_ms: round(result.entriesMs),
    ...Object.fromEntries(
      steps.map(({ wallets, rows, result }) => [
        `cpu_us_at_${wallets}_wallets_${rows}_rows`,
        round(result.allWallets.postgresUs),
      ]),
    ),
  };
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
