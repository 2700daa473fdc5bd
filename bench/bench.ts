import { describeMissing, type Programs } from "../tools/missing-programs.ts";
import { drawCharts } from "./draw-charts.ts";
import { createHarness, type Harness } from "./harness.ts";
import { type BenchOptions, help, OptionError, readOptions } from "./read-options.ts";
import { reportShares } from "./report-shares.ts";
import { runFootprintBench } from "./run-footprint-bench.ts";
import { runGrowthBench } from "./run-growth-bench.ts";
import { runInFlightBench } from "./run-in-flight-bench.ts";
import { runLatencyBench } from "./run-latency-bench.ts";
import { runLedgerBench } from "./run-ledger-bench.ts";
import { runLoadBench } from "./run-load-bench.ts";
import { runProcessesBench } from "./run-processes-bench.ts";
import { runRankBench } from "./run-rank-bench.ts";
import { runReconcileBench } from "./run-reconcile-bench.ts";
import { runRestoreBench } from "./run-restore-bench.ts";
import { runSearchBench } from "./run-search-bench.ts";
import { runStatementsBench } from "./run-statements-bench.ts";

// `npm run bench`: see README.md for how to read the results. Progress goes to stderr. The last line of stdout is a JSON
// object, printed only if every search succeeded and the charges match.

const benches = {
  search: runSearchBench,
  latency: runLatencyBench,
  processes: runProcessesBench,
  ledger: runLedgerBench,
  statements: runStatementsBench,
  footprint: runFootprintBench,
  rank: runRankBench,
  load: runLoadBench,
  "in-flight": runInFlightBench,
  shares: (_harness: Harness, options: BenchOptions) => reportShares(options.profileFolder ?? "profiles"),
  charts: () => drawCharts(),
  growth: runGrowthBench,
  reconcile: runReconcileBench,
  restore: runRestoreBench,
};

/** The programs that each kind of benchmark starts, besides the PostgreSQL from npm. */
const redis = { "redis-server": "redis-server" };
const loadTools = { ...redis, nginx: "nginx-light", wrk: "wrk" };
const programs: Partial<Record<BenchOptions["kind"], Programs>> = {
  search: loadTools,
  latency: loadTools,
  processes: loadTools,
  load: redis,
  "in-flight": redis,
  restore: { pgbackrest: "pgbackrest" },
};

class InterruptedError extends Error {}

// Setting exitCode is not enough: an interrupted benchmark still has open connections that keep the process alive.
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === "help") {
      console.log(help);
      return 0;
    }
    const missing = describeMissing(programs[options.kind] ?? {});
    if (missing !== undefined) {
      console.error(missing);
      return 2;
    }
    console.log(JSON.stringify(await run(options)));
    return 0;
  } catch (error) {
    if (error instanceof InterruptedError) return 130;
    if (!(error instanceof OptionError)) throw error;
    console.error(`${error.message}. See: npm run bench -- --help`);
    return 2;
  }
}

async function run(options: BenchOptions): Promise<Record<string, number>> {
  const interrupted = waitForInterruption();
  const harness = createHarness();
  try {
    return await Promise.race([benches[options.kind](harness, options), interrupted]);
  } finally {
    await harness.close();
  }
}

function waitForInterruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      // Keep the handler installed: npm forwards the Ctrl-C that the terminal has already sent.
      process.on(signal, () => reject(new InterruptedError()));
    }
  });
}
