import { formatResult } from "./format-result.ts";
import { help, readOptions, WrongOption } from "./read-options.ts";
import { runChaos } from "./run-chaos.ts";

// `npm run chaos`. Progress goes to stderr; stdout is the table that docs/reliability.md shows. Exit code 1: something is
// wrong with the books, and the seed and the request's history are told.

// What was started and mounted is stopped and unmounted as the process exits.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
process.exit(await main(process.argv.slice(2)));

async function main(args: string[]): Promise<number> {
  try {
    const options = readOptions(args);
    if (options === "help") {
      console.log(help);
      return 0;
    }
    const result = await runChaos(options, (line) => console.error(line));
    console.log(formatResult(options, result));
    if (result.auditResult.faults.length === 0) return 0;
    console.log(`\nVIOLATIONS (seed ${options.seed})\n\n${result.histories.join("\n\n")}`);
    return 1;
  } catch (error) {
    if (!(error instanceof WrongOption)) throw error;
    console.error(`${error.message}. See: npm run chaos -- --help`);
    return 2;
  }
}
