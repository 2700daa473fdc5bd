#!/usr/bin/env node
import { runProgram } from "./run-program.ts";

// A pipe reader such as `head` may exit early. That is not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

const { env, stdin, stdout, stderr } = process;
process.exitCode = await runProgram(process.argv.slice(2), { env, stdin, stdout, stderr });
