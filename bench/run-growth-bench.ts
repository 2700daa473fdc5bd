import { totalmem } from "node:os";
import { checkBooks } from "./check-growth.ts";
import { describeMachine } from "./describe-machine.ts";
import { formatNumber } from "./format-table.ts";
import { measureGrowth } from "./measure-growth.ts";
import { type BenchOptions, WrongOption } from "./read-options.ts";
import { type GrowthStep, readSizes, reportGrowth } from "./report-growth.ts";
import { type Growth, seedGrowth, seedingSettings } from "./seed-growth.ts";
import { connectAsOwner, type Postgres, startPostgres } from "./start-postgres.ts";
import type { Workshop } from "./workshop.ts";

const usualSteps: Growth[] = [
  { wallets: 10_000, rows: 1_000_000, days: 10 },
  { wallets: 100_000, rows: 1_000_000, days: 10 },
  { wallets: 1_000_000, rows: 10_000_000, days: 30 },
  { wallets: 10_000_000, rows: 100_000_000, days: 100 },
];
const quickSteps: Growth[] = [
  { wallets: 1_000, rows: 10_000, days: 10 },
  { wallets: 10_000, rows: 100_000, days: 30 },
];

// A quarter of the memory is what PostgreSQL's own manual begins with: ten million wallets do not fit into less.
const memory = `shared_buffers=${Math.floor(totalmem() / 4 / 2 ** 20)}MB`;

/** What a search costs while wallets and ledger grow. */
export async function runGrowthBench(workshop: Workshop, options: BenchOptions): Promise<Record<string, number>> {
  console.log(describeMachine(workshop.folder));
  const wanted = (options.isQuick ? quickSteps : usualSteps).filter(
    ({ wallets, rows }) => wallets <= options.mostWallets && rows <= options.mostRows,
  );
  if (wanted.length === 0) throw new WrongOption("--wallets and --rows leave nothing to measure");
  let postgres = await startPostgres(workshop, [memory, ...seedingSettings]);
  const steps: GrowthStep[] = [];
  for (const growth of wanted) {
    const title = `${formatNumber(growth.wallets)} wallets, ${formatNumber(growth.rows)} rows over ${growth.days} days`;
    console.error(title);
    const began = performance.now();
    await seedGrowth(postgres.adminUrl, growth);
    const seconds = ((performance.now() - began) / 1_000).toFixed(0);
    postgres = await postgres.restart([memory]);
    // What seeding left to be written would be written while we measure.
    await workshop.run("sync", []);
    if (steps.length === 0) console.log(`Postgres  ${postgres.version} ${postgres.settings}`);
    console.log(`\n${title}: made in ${seconds} s`);
    steps.push(await takeStep(postgres, growth, options));
    if (growth !== wanted.at(-1)) postgres = await postgres.restart([memory, ...seedingSettings]);
  }
  return reportGrowth(steps);
}

async function takeStep(postgres: Postgres, growth: Growth, options: BenchOptions): Promise<GrowthStep> {
  const owner = connectAsOwner(postgres.urls);
  try {
    const since = new Date();
    const measured = await measureGrowth(postgres, growth, options);
    console.log(await readSizes(owner));
    const bill = await checkBooks(owner, growth, { since, answered: measured.answered });
    console.log(`${bill}; autovacuum came by ${measured.autovacuums} times`);
    return { ...growth, measured };
  } finally {
    await owner.end();
  }
}
