import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";

/** A temporary folder and the processes that run in it. Closing it leaves nothing behind. */
export interface Workshop {
  folder: string;
  start(wish: ProcessWish): Promise<Running>;
  /** Runs a program to its end and gives what it printed. */
  run(program: string, args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

export interface ProcessWish {
  name: string;
  program: string;
  args: readonly string[];
  environment?: Record<string, string>;
  account?: { uid: number; gid: number } | undefined;
  /** Started when it accepts connections here, and has logged these words: PostgreSQL listens before it lets one in. */
  port: number;
  readyWords?: string;
  stopSignal?: NodeJS.Signals;
}

export interface Running {
  pid: number;
  /** Before the others, for what is to be started anew. */
  stop: (signal: NodeJS.Signals) => Promise<void>;
}

const patienceMs = 60_000;

export function openWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-bench-"));
  // PostgreSQL and nginx may run under other accounts than ours.
  chmodSync(folder, 0o755);
  const running = new Set<{ child: ChildProcess; stopSignal: NodeJS.Signals }>();
  let isClosed = false;
  // The last resort, should we end without closing: nothing can be waited for here.
  const killAll = (): void => {
    for (const { child } of running) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", killAll);

  function launch(program: string, args: readonly string[], { stopSignal, ...options }: Launch): ChildProcess {
    // After an interruption someone may still be on the way to start the next thing.
    if (isClosed) throw new Error("the workshop is closed");
    // A group of its own: the terminal's Ctrl-C reaches us alone, and we stop the others in order.
    const child = spawn(program, args, { cwd: folder, detached: true, ...options });
    running.add({ child, stopSignal });
    return child;
  }

  async function start(wish: ProcessWish): Promise<Running> {
    const logFile = join(folder, `${wish.name}.log`);
    const log = openSync(logFile, "w");
    const child = launch(wish.program, wish.args, {
      stopSignal: wish.stopSignal ?? "SIGTERM",
      env: { PATH: process.env["PATH"], LANG: "C.UTF-8", ...wish.environment },
      // A server's log lines are made and written, as in production, and kept by nobody.
      stdio: ["ignore", "ignore", log],
      ...wish.account,
    });
    closeSync(log);
    const isReady = async (): Promise<boolean> =>
      (await accepts(wish.port)) && readFileSync(logFile, "utf8").includes(wish.readyWords ?? "");
    const failure = await Promise.race([once(child, "exit").then(() => "it ended"), until(isReady)]);
    if (failure === undefined) return { pid: child.pid ?? 0, stop: (signal) => stop(child, signal) };
    throw new Error(`${wish.name} did not start: ${failure}\n${readFileSync(logFile, "utf8")}`);
  }

  async function run(program: string, args: readonly string[]): Promise<string> {
    const child = launch(program, args, { stopSignal: "SIGTERM", stdio: ["ignore", "pipe", "inherit"] });
    const [printed, [code]] = await Promise.all([
      text(child.stdout ?? Readable.from([])),
      once(child, "exit") as Promise<unknown[]>,
    ]);
    if (code !== 0) throw new Error(`${program} ended with ${String(code)}:\n${printed}`);
    return printed;
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const { child, stopSignal } of [...running].toReversed()) await stop(child, stopSignal);
    rmSync(folder, { recursive: true, force: true });
    process.removeListener("exit", killAll);
  }

  return { folder, start, run, close };
}

interface Launch extends Pick<SpawnOptions, "env" | "stdio" | "uid" | "gid"> {
  stopSignal: NodeJS.Signals;
}

/** Undefined when it is, otherwise why not. */
async function until(isReady: () => Promise<boolean>): Promise<string | undefined> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    if (await isReady()) return undefined;
    await wait(20);
  }
  return `it was not ready after ${patienceMs / 1_000} s`;
}

function accepts(port: number): Promise<boolean> {
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
  const timer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  child.kill(signal);
  await ended;
  clearTimeout(timer);
}

/** A folder inside the workshop that another account may write to. */
export function makeFolder(path: string): string {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o777 });
  chmodSync(path, 0o777);
  return path;
}
