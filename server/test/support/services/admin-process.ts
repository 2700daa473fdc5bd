import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { runAdmin as runCommand } from "../../../src/admin/run-admin.ts";
import { spawnNode } from "./node-process.ts";

export interface AdminRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** The admin command in this process, which saves the CPU time of a start, with this environment and no other. */
export async function runAdmin(environment: Record<string, string>, ...args: string[]): Promise<AdminRun> {
  const [stdin, stdout, stderr] = [new PassThrough().end(), new PassThrough(), new PassThrough()];
  const texts = Promise.all([text(stdout), text(stderr)]);
  const exitCode = await runCommand(args, { environment, stdin, stdout, stderr });
  stdout.end();
  stderr.end();
  const [printed, explained] = await texts;
  return { exitCode, stdout: printed, stderr: explained };
}

/** The admin command as `npm run admin` starts it, in a separate process. */
export async function spawnAdmin(environment: Record<string, string>, ...args: string[]): Promise<AdminRun> {
  const run = spawnNode("admin/main.ts", environment, { args });
  const exitCode = await run.ended;
  return { exitCode, stdout: run.stdout(), stderr: run.stderr() };
}
