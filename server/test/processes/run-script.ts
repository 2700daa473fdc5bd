import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { compileCache } from "../support/services/compile-cache.ts";

export interface ScriptRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a script with Node and waits for it to exit. The path is relative to server/src. */
export async function runScript(
  path: string,
  args: readonly string[],
  { environment = {}, input = "" }: { environment?: Record<string, string>; input?: string } = {},
): Promise<ScriptRun> {
  const script = new URL(`../../src/${path}`, import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], { env: { ...compileCache, ...environment } });
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { exitCode: child.exitCode, stdout, stderr };
}
