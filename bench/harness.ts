import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

/** A temporary folder and the processes that run in it. Closing it stops the processes and removes the folder. */
export interface Harness {
  folder: string;
  start(options: ProcessOptions): Promise<RunningProcess>;
  /** Runs a program and returns its output. */
  run(program: string, args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export interface ProcessOptions {
  name: string;
  program: string;
  args: readonly string[];
  env?: Record<string, string>;
  account?: { uid: number; gid: number } | undefined;
  /** Ready when the port accepts connections and the log contains `readyText` (PostgreSQL listens before it is ready). */
  port: number;
  readyText?: string;
  stopSignal?: NodeJS.Signals;
}

export interface RunningProcess {
  pid: number;
  /** Stops this process before the others, to restart it. */
  stop: (signal: NodeJS.Signals) => Promise<void>;
}

const timeoutMs = 60_000;

export function createHarness(): Harness {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-bench-"));
  // PostgreSQL and nginx may run under other accounts.
  chmodSync(folder, 0o755);
  const processes = new Set<{ child: ChildProcess; stopSignal: NodeJS.Signals }>();
  let isClosed = false;
  // Fallback if the process exits without closing the harness. Exit handlers cannot wait.
  const killAll = (): void => {
    for (const { child } of processes) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", killAll);

  function launch(program: string, args: readonly string[], { stopSignal, ...options }: LaunchOptions): ChildProcess {
    // After an interruption a benchmark may still try to start its next process.
    if (isClosed) throw new Error("the harness is closed");
    // Detached, so that Ctrl-C reaches only this process, which stops the others in order.
    const child = spawn(program, args, { cwd: folder, detached: true, ...options });
    processes.add({ child, stopSignal });
    return child;
  }

  async function start(options: ProcessOptions): Promise<RunningProcess> {
    const logFile = join(folder, `${options.name}.log`);
    const log = openSync(logFile, "w");
    const child = launch(options.program, options.args, {
      stopSignal: options.stopSignal ?? "SIGTERM",
      env: { PATH: process.env["PATH"], LANG: "C.UTF-8", ...options.env },
      // Servers write their logs as in production; the output is discarded.
      stdio: ["ignore", "ignore", log],
      ...options.account,
    });
    closeSync(log);
    const isReady = async (): Promise<boolean> =>
      (await acceptsConnections(options.port)) && readFileSync(logFile, "utf8").includes(options.readyText ?? "");
    const failure = await Promise.race([once(child, "exit").then(() => "it exited"), waitUntilReady(isReady)]);
    if (failure === undefined) return { pid: child.pid ?? 0, stop: (signal) => stop(child, signal) };
    throw new Error(`${options.name} did not start: ${failure}\n${readFileSync(logFile, "utf8")}`);
  }

  async function run(program: string, args: readonly string[]): Promise<string> {
    const child = launch(program, args, { stopSignal: "SIGTERM", stdio: ["ignore", "pipe", "inherit"] });
    const [output, [code]] = await Promise.all([
      text(child.stdout ?? Readable.from([])),
      once(child, "exit") as Promise<unknown[]>,
    ]);
    if (code !== 0) throw new Error(`${program} exited with ${String(code)}:\n${output}`);
    return output;
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const { child, stopSignal } of [...processes].toReversed()) await stop(child, stopSignal);
    rmSync(folder, { recursive: true, force: true });
    process.removeListener("exit", killAll);
  }

  return { folder, start, run, close };
}

interface LaunchOptions extends Pick<SpawnOptions, "env" | "stdio" | "uid" | "gid"> {
  stopSignal: NodeJS.Signals;
}

/** Returns undefined when ready, otherwise the reason. */
async function waitUntilReady(isReady: () => Promise<boolean>): Promise<string | undefined> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (await isReady()) return undefined;
    await wait(20);
  }
  return `not ready after ${timeoutMs / 1_000} s`;
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  child.kill(signal);
  await ended;
  clearTimeout(timer);
}

/** Creates a folder that other accounts can write to. */
export function makeFolder(path: string): string {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o777 });
  chmodSync(path, 0o777);
  return path;
}
