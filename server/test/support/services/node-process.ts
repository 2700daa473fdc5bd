import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { compileCache } from "./compile-cache.ts";

export interface NodeProcess {
  process: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  /** Both streams, in the order of their chunks. */
  output: () => string;
  /** Resolves to the exit code. */
  ended: Promise<number | null>;
}

// A test that fails before it stops its process must neither leave it running nor wait for it.
const started = new Set<ChildProcess>();
function killStarted(): void {
  for (const child of started) child.kill("SIGKILL");
}
after(killStarted);
// tools/force-exit.ts may end the process before the hook above.
process.once("exit", killStarted);

export function killAfterTests<Child extends ChildProcess>(child: Child): Child {
  started.add(child);
  return child;
}

/**
 * Runs a script of server/src with this environment and no other, except for the compile cache. It is killed after the last
 * test of the file.
 */
export function spawnNode(
  script: string,
  environment: Record<string, string>,
  { args = [], nodeOptions = [] }: { args?: string[]; nodeOptions?: string[] } = {},
): NodeProcess {
  const path = new URL(`../../../src/${script}`, import.meta.url).pathname;
  const child = spawn(process.execPath, [...nodeOptions, path, ...args], {
    env: { ...compileCache, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  killAfterTests(child);
  const texts = { stdout: "", stderr: "", output: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      texts[name] += chunk.toString();
      texts.output += chunk.toString();
    });
  }
  const ended = once(child, "close").then(() => child.exitCode);
  return {
    process: child,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    output: () => texts.output,
    ended,
  };
}
