import { parseArgs } from "node:util";
import { writeDrillMetrics } from "./drill-metrics.ts";
import { type DrillOptions, type DrillResult, runDrill } from "./run-drill.ts";

// npm run restore-drill -- --stanza pennyblack --to FOLDER
//
// Restores the latest backup into a new folder, recovers it, verifies the ledger, prints sizes and times, and removes the
// folder. The repository and the running database are not changed. Exit codes: 0 success, 1 failure, 2 usage error.

const help = `npm run restore-drill -- --stanza NAME --to FOLDER [options]

  --stanza NAME      the stanza of pgBackRest
  --to FOLDER        a new folder on a disk with room for the database; removed at the end
  --config FILE      pgBackRest's configuration (default: pgBackRest's own default)
  --programs FOLDER  PostgreSQL's programs (default: Debian's, of the version of the backup)
  --database NAME    the database to verify (default: pennyblack)
  --check KIND       full: compare every row of the ledger (default); hourly: as the worker does, close the hours that are
                     due and compare with the sums of the closed ones
  --metrics FOLDER   also write the result as metrics, to the folder of node_exporter's textfile collector
  --json             print the result as JSON`;

class UsageError extends Error {}

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interruption.abort());
  try {
    const options = readOptions(args);
    if (options === "help") return print(help);
    const { stanza, metrics } = options;
    const result = await runDrill(options, {
      signal: interruption.signal,
      onProgress: reportProgress(performance.now()),
    }).catch((error: unknown) => {
      if (metrics !== undefined) writeDrillMetrics(metrics, { stanza, result: undefined, now: new Date() });
      throw error;
    });
    if (metrics !== undefined) writeDrillMetrics(metrics, { stanza, result, now: new Date() });
    return print(options.isJson ? JSON.stringify(result) : formatResult(result));
  } catch (error) {
    if (error instanceof UsageError) return printError(`${error.message}. See: npm run restore-drill -- --help`, 2);
    if (interruption.signal.aborted) return printError("Interrupted. The restored copy was removed.", 1);
    return printError(`The drill failed: ${error instanceof Error ? error.message : String(error)}`, 1);
  }
}

function readOptions(args: string[]): (DrillOptions & { metrics: string | undefined; isJson: boolean }) | "help" {
  const { values } = parse(args);
  if (values.help) return "help";
  const { stanza, to, config, programs, database, check, metrics, json } = values;
  if (stanza === undefined || to === undefined) throw new UsageError("--stanza and --to are required");
  if (check !== "full" && check !== "hourly") throw new UsageError("--check must be full or hourly");
  return { stanza, folder: to, config, programs, database, check, metrics, isJson: json };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        stanza: { type: "string" },
        to: { type: "string" },
        config: { type: "string" },
        programs: { type: "string" },
        database: { type: "string", default: "pennyblack" },
        check: { type: "string", default: "full" },
        metrics: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

function reportProgress(startMs: number): (text: string) => void {
  return (text) =>
    process.stderr.write(`${((performance.now() - startMs) / 1_000).toFixed(1).padStart(7)} s  ${text}\n`);
}

function formatResult(result: DrillResult): string {
  const seconds = (value: number): string => `${value.toFixed(1)} s`;
  const bytes = (value: number): string => `${(value / 1e6).toFixed(1)} MB`;
  return [
    `Backup        ${result.backup}, completed ${result.backupAt}`,
    `Database      ${bytes(result.databaseBytes)}`,
    `Backup size   ${bytes(result.backupBytes)} in the repository, without WAL`,
    `RPO           ${seconds(result.rpoSeconds)}: last transaction ${result.lastCommitAt}, end of the archived WAL reached ${result.archiveEndAt}`,
    `RTO           ${seconds(result.rtoSeconds)}: restore ${seconds(result.restoreSeconds)}, recovery ${seconds(result.recoverySeconds)}, verification ${seconds(result.verifySeconds)}`,
    `Verification  ${result.check} reconciliation, ${result.checks} checks, ${result.compared} comparisons: clean`,
  ].join("\n");
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

function printError(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}
