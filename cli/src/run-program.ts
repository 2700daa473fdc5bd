import { CommanderError } from "commander";
import { createProgram, type ProgramOptions } from "./create-program.ts";
import { DifferenceFound, exitCodeFor, exitCodes, formatError } from "./exit-code.ts";

/** Runs a command and returns the exit code. `args` are the words after the program name. */
export async function runProgram(args: readonly string[], options: ProgramOptions): Promise<number> {
  try {
    await createProgram(options).parseAsync(args, { from: "user" });
    return exitCodes.ok;
  } catch (error) {
    // Commander has already printed the message. Its exit code is 0 for --help and --version.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (error instanceof DifferenceFound) return exitCodes.difference;
    options.stderr.write(`${formatError(error, args.includes("--json"))}\n`);
    return exitCodeFor(error);
  }
}
