import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { CannotStart } from "./cannot-start.ts";

export interface Child {
  process: ChildProcess;
  /** Says why, if the process ends without having been asked to. */
  died: Promise<string>;
  /** Asks it to end, and makes it end if it does not. */
  stop: () => Promise<void>;
}

export interface ChildOptions {
  name: string;
  script: string;
  environment: NodeJS.ProcessEnv;
  onLine: (line: string) => void;
}

const patienceMs = 10_000;

/** Another Node process in a group of its own, so that Ctrl-C in the terminal reaches dev alone, which stops it in turn. */
export function startChild({ name, script, environment, onLine }: ChildOptions): Child {
  const preload = new URL("./stop-with-parent.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--import", preload, script], {
    env: environment,
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const lastWords: string[] = [];
  let isAsked = false;
  if (child.stdout) createInterface(child.stdout).on("line", onLine);
  if (child.stderr) {
    createInterface(child.stderr).on("line", (line) => {
      onLine(line);
      lastWords.push(line);
      if (lastWords.length > 20) lastWords.shift();
    });
  }
  const ended = once(child, "close");
  const died = ended.then(() => {
    // Nobody waits for the words of a process that was told to end.
    if (isAsked) return new Promise<never>(() => {});
    return [`The ${name} ended (${child.signalCode ?? `exit code ${child.exitCode}`}).`, ...lastWords].join("\n");
  });

  return {
    process: child,
    died,
    async stop() {
      isAsked = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
      child.kill("SIGTERM");
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Settles as the work does, or fails as soon as one of the processes it depends on dies. */
export async function whileAlive<Result>(
  work: Promise<Result>,
  children: readonly Pick<Child, "died">[],
): Promise<Result> {
  const deaths = children.map(async (child) => {
    throw new CannotStart(await child.died);
  });
  return await Promise.race([work, ...deaths]);
}
