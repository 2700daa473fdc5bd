import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { Account } from "../../../src/dev/postgres-programs.ts";
import { compileCache } from "../../support/services/compile-cache.ts";
import { sendSignal } from "../../support/services/send-signal.ts";

export interface ProcessOptions {
  name: string;
  program: string;
  args: readonly string[];
  environment?: Record<string, string>;
  account?: Account | undefined;
  logFile: string;
  folder: string;
  /** Called after each exit, before the process is restarted. */
  onExit?: () => void;
}

/** A process that is restarted whenever it exits, until it is stopped. */
export interface SupervisedProcess {
  name: string;
  pid(): number | undefined;
  start(): void;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal, waits for the process to exit and does not restart it. */
  stop(signal: NodeJS.Signals): Promise<void>;
  /** True between start and stop, even while the process is being restarted. */
  shouldRun(): boolean;
}

const restartAfterMs = 100;
const all = new Set<ChildProcess>();

/** In case this process exits without stopping them. */
process.once("exit", () => {
  for (const child of all) child.kill("SIGKILL");
});

export function superviseProcess(options: ProcessOptions): SupervisedProcess {
  let child: ChildProcess | undefined;
  let shouldRun = false;

  function spawnIfNeeded(): void {
    if (!shouldRun || child) return;
    const log = openSync(options.logFile, "a");
    const started = spawn(options.program, options.args, {
      ...options.account,
      cwd: options.folder,
      env: { ...compileCache, PATH: process.env["PATH"], LANG: "C.UTF-8", ...options.environment },
      stdio: ["ignore", log, log],
      // In its own process group, so that Ctrl-C in the terminal does not reach it.
      detached: true,
    });
    closeSync(log);
    child = started;
    all.add(started);
    started.once("exit", () => {
      all.delete(started);
      child = undefined;
      options.onExit?.();
      wait(restartAfterMs).then(spawnIfNeeded, spawnIfNeeded);
    });
  }

  return {
    name: options.name,
    pid: () => child?.pid,
    shouldRun: () => shouldRun,
    start() {
      shouldRun = true;
      spawnIfNeeded();
    },
    signal: (signal) => signalGroup(child, signal),
    async stop(signal) {
      shouldRun = false;
      if (!child) return;
      const ended = once(child, "exit");
      signalGroup(child, signal);
      // A paused process handles other signals only after this one.
      if (signal !== "SIGKILL") signalGroup(child, "SIGCONT");
      await ended;
    },
  };
}

/** Includes the children of the process, which a shell or npm would leave running. */
function signalGroup(child: ChildProcess | undefined, signal: NodeJS.Signals): void {
  if (child?.pid !== undefined) sendSignal(-child.pid, signal);
}
