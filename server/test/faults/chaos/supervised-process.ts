import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Account } from "../../../src/dev/postgres-programs.ts";

export interface ProcessOptions {
  name: string;
  program: string;
  args: readonly string[];
  environment?: Record<string, string>;
  account?: Account | undefined;
  logFile: string;
  folder: string;
}

/** A process and its supervisor: what dies is started again, as long as it is wanted. */
export interface SupervisedProcess {
  name: string;
  pid(): number | undefined;
  /** From now on it is started whenever it does not run. */
  want(): void;
  signal(signal: NodeJS.Signals): void;
  /** From now on nobody starts it. Resolves when it has ended. */
  retire(signal: NodeJS.Signals): Promise<void>;
  isWanted(): boolean;
}

const restartAfterMs = 100;
const all = new Set<ChildProcess>();

/** The last resort, should we end without closing. */
process.once("exit", () => {
  for (const child of all) child.kill("SIGKILL");
});

export function superviseProcess(wish: ProcessOptions): SupervisedProcess {
  let child: ChildProcess | undefined;
  let isWanted = false;

  function start(): void {
    if (!isWanted || child) return;
    const log = openSync(wish.logFile, "a");
    const started = spawn(wish.program, wish.args, {
      ...wish.account,
      cwd: wish.folder,
      env: { PATH: process.env["PATH"], LANG: "C.UTF-8", ...wish.environment },
      stdio: ["ignore", log, log],
      // The terminal's Ctrl-C is for us alone.
      detached: true,
    });
    closeSync(log);
    child = started;
    all.add(started);
    started.once("exit", () => {
      all.delete(started);
      child = undefined;
      wait(restartAfterMs).then(start, start);
    });
  }

  return {
    name: wish.name,
    pid: () => child?.pid,
    isWanted: () => isWanted,
    want() {
      isWanted = true;
      start();
    },
    signal: (signal) => tell(child, signal),
    async retire(signal) {
      isWanted = false;
      if (!child) return;
      const ended = once(child, "exit");
      tell(child, signal);
      // One that stands still hears nothing but this.
      if (signal !== "SIGKILL") tell(child, "SIGCONT");
      await ended;
    },
  };
}

/** With all that it started itself: a shell or npm would leave its children behind. */
function tell(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
