#!/usr/bin/env node
import { CommanderError } from "commander";
import { createProgram } from "./create-program.ts";
import { exitCodeFor, exitCodes, formatError } from "./exit-code.ts";

// A pipe reader such as `head` may exit early. That is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

try {
  await createProgram({
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
  }).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has already printed the message. Its exit code is 0 for --help and --version.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    console.error(formatError(error, process.argv.includes("--json")));
    process.exitCode = exitCodeFor(error);
  }
}
