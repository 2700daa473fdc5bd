#!/usr/bin/env node
import { CommanderError } from "commander";
import { createProgram } from "./create-program.ts";
import { exitCodeOf, exitCodes, explainError } from "./exit-code.ts";

// The other end of a pipe may leave early, as `head` does. That is no failure.
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
    // It has said what there is to say; help and version are no faults.
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    console.error(explainError(error, process.argv.includes("--json")));
    process.exitCode = exitCodeOf(error);
  }
}
