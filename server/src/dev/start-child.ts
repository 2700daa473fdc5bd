import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { StartupError } from "./startup-error.ts";

export interface Child {
  process: ChildProcess;
  /** Resolves with a message if the process exits without `stop`. */
  died: Promise<string>;
  /** Sends SIGTERM, then SIGKILL after a timeout. */
  stop: () => Promise<void>;
}

export interface ChildOptions {
  name: string;
  script: string;
  args?: readonly string[];
  environment: NodeJS.ProcessEnv;
  onLine: (line: string) => void;
}

const timeoutMs = 10_000;

/** Starts a Node process in its own process group, so that Ctrl-C reaches only dev, which stops its children in order. */
export function startChild({ name, script, args = [], environment, onLine }: ChildOptions): Child {
  const preload = new URL("./stop-with-parent.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--import", preload, script, ...args], {
    env: environment,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const stderrTail: string[] = [];
  let isStopping = false;
  if (child.stdout) createInterface(child.stdout).on("line", onLine);
  if (child.stderr) {
    createInterface(child.stderr).on("line", (line) => {
      onLine(line);
      stderrTail.push(line);
      if (stderrTail.length > 20) stderrTail.shift();
    });
  }
  const ended = once(child, "close");
  const died = ended.then(() => {
    if (isStopping) return new Promise<never>(() => {});
    return [
      `The ${name} exited unexpectedly (${child.signalCode ?? `exit code ${child.exitCode}`}).`,
      ...stderrTail,
    ].join("\n");
  });

  return {
    process: child,
    died,
    async stop() {
      isStopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Settles like `work`, or rejects as soon as one of the processes dies. */
export async function whileAlive<Result>(
  work: Promise<Result>,
  children: readonly Pick<Child, "died">[],
): Promise<Result> {
  const deaths = children.map(async (child) => {
    throw new StartupError(await child.died);
  });
  return await Promise.race([work, ...deaths]);
}
