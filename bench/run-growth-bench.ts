import { totalmem } from "node:os";
import { checkLedger } from "./check-ledger.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber } from "./format-table.ts";
import type { Harness } from "./harness.ts";
import { measureGrowth } from "./measure-growth.ts";
import { type BenchOptions, OptionError } from "./read-options.ts";
import { type GrowthStep, readSizes, reportGrowth } from "./report-growth.ts";
import { type Growth, seedGrowth, seedingSettings } from "./seed-growth.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";

const defaultSteps: Growth[] = [
  { wallets: 10_000, rows: 1_000_000, days: 10 },
  { wallets: 100_000, rows: 1_000_000, days: 10 },
  { wallets: 1_000_000, rows: 10_000_000, days: 30 },
  { wallets: 10_000_000, rows: 100_000_000, days: 100 },
];
const quickSteps: Growth[] = [
  { wallets: 200, rows: 2_000, days: 2 },
  { wallets: 2_000, rows: 20_000, days: 4 },
];

// PostgreSQL's manual recommends a quarter of the memory as a starting point. Ten million wallets do not fit in less.
const memory = `shared_buffers=${Math.floor(totalmem() / 4 / 2 ** 20)}MB`;

/** Measures the cost of a search as the number of wallets and ledger rows grows. */
export async function runGrowthBench(harness: Harness, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(harness.folder));
  const selected = (options.isQuick ? quickSteps : defaultSteps).filter(
    ({ wallets, rows }) => wallets <= options.maxWallets && rows <= options.maxRows,
  );
  if (selected.length === 0) throw new OptionError("--wallets and --rows exclude every step");
  let postgres = await startPostgres(harness, [memory, ...seedingSettings]);
  const steps: GrowthStep[] = [];
  for (const growth of selected) {
    const title = `${formatNumber(growth.wallets)} wallets, ${formatNumber(growth.rows)} rows over ${growth.days} days`;
    console.error(title);
    const startMs = performance.now();
    await seedGrowth(postgres.adminUrl, growth);
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
    postgres = await postgres.restart([memory]);
    // Otherwise pending writes from seeding would be flushed during the measurement.
    await harness.run("sync", []);
    if (steps.length === 0) console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
    console.log(`\n${title}: seeded in ${seconds} s`);
    steps.push(await measureStep(postgres, growth, options));
    if (growth !== selected.at(-1)) postgres = await postgres.restart([memory, ...seedingSettings]);
  }
  return reportGrowth(steps);
}

async function measureStep(postgres: Postgres, growth: Growth, options: BenchOptions): Promise<GrowthStep> {
  const owner = connectAsOwner(postgres.urls);
  try {
    const since = new Date();
    const measured = await measureGrowth(postgres, growth, options);
    console.log(await readSizes(owner));
    const charges = await checkLedger(owner, growth, { since, answered: measured.answered });
    console.log(`${charges}; ${measured.autovacuums} autovacuum runs`);
    return { ...growth, result: measured };
  } finally {
    await owner.end();
  }
}
