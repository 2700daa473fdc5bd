import { drawCharts } from "./draw-charts.ts";
import { type BenchOptions, help, readOptions, WrongOption } from "./read-options.ts";
import { reportShares } from "./report-shares.ts";
import { runGrowthBench } from "./run-growth-bench.ts";
import { runLatencyBench } from "./run-latency-bench.ts";
import { runLedgerBench } from "./run-ledger-bench.ts";
import { runLoadBench } from "./run-load-bench.ts";
import { runProcessesBench } from "./run-processes-bench.ts";
import { runRankBench } from "./run-rank-bench.ts";
import { runSearchBench } from "./run-search-bench.ts";
import { runUsageBench } from "./run-usage-bench.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

// `npm run bench`: see README.md for how to read the numbers. Progress goes to stderr; the last line of stdout is one
// JSON object, and it is there only if every search was answered and every cent is accounted for.

const benches = {
  search: runSearchBench,
  latency: runLatencyBench,
  processes: runProcessesBench,
  ledger: runLedgerBench,
  rank: runRankBench,
  usage: runUsageBench,
  load: runLoadBench,
  shares: (_workshop: Workshop, options: BenchOptions) => reportShares(options.profileFolder ?? "profiles"),
  charts: () => drawCharts(),
  growth: runGrowthBench,
};

class Interrupted extends Error {}

// Not exitCode: what was interrupted still holds connections, and would try for a while.
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    console.log(options === "help" ? help : JSON.stringify(await run(options)));
    return 0;
  } catch (error) {
    if (error instanceof Interrupted) return 130;
    if (!(error instanceof WrongOption)) throw error;
    console.error(`${error.message}. See: npm run bench -- --help`);
    return 2;
  }
}

async function run(options: BenchOptions): Promise<Record<string, number>> {
  const interruption = waitForInterruption();
  const workshop = openWorkshop();
  try {
    return await Promise.race([benches[options.kind](workshop, options), interruption]);
  } finally {
    await workshop.close();
  }
}

function waitForInterruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      // Twice is as good as once: npm passes on the Ctrl-C that the terminal has sent us already.
      process.on(signal, () => reject(new Interrupted()));
    }
  });
}
