import { describeMissing } from "../../../../tools/missing-programs.ts";
import { clusterPrograms } from "../../support/patroni/patroni-cluster.ts";
import { formatResult } from "./format-result.ts";
import { help, InvalidOption, readOptions } from "./read-options.ts";
import { runChaos } from "./run-chaos.ts";

// `npm run chaos`. Progress goes to stderr; stdout is the table in docs/reliability.md. Exit code 1: the audit found
// violations, which are printed with the seed and the history of the request.

const programs = { ...clusterPrograms, haproxy: "haproxy", "redis-server": "redis-server" };

// Exit handlers stop all processes and unmount all disks.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === "help") {
      console.log(help);
      return 0;
    }
    const missing = describeMissing(programs);
    if (missing !== undefined) {
      console.error(missing);
      return 2;
    }
    const result = await runChaos(options, (line) => console.error(line));
    console.log(formatResult(options, result));
    if (result.audited.violations.length === 0) return 0;
    console.log(
      `\nVIOLATIONS (seed ${options.seed})\n\n${result.histories.join("\n\n")}\n\nThe logs are in ${result.logs}.`,
    );
    return 1;
  } catch (error) {
    if (!(error instanceof InvalidOption)) throw error;
    console.error(`${error.message}. See: npm run chaos -- --help`);
    return 2;
  }
}
