import { ConfigFaults, readEnvironment } from "../config/config.ts";
import { type DevOptions, help, readOptions } from "./read-options.ts";
import { whileAlive } from "./start-child.ts";
import { type Everything, startEverything } from "./start-everything.ts";
import { StartupError } from "./startup-error.ts";
import { welcome } from "./welcome.ts";

// `npm run dev` runs a complete Pennyblack on a machine that has only Node and npm. It starts PostgreSQL, unless
// DATABASE_URL is set, creates roles, tables and a wallet, starts a server and a worker, and stops everything in reverse
// order on Ctrl-C.

/** Stopped during startup. */
class StoppedEarly extends Error {}

const environment = readEnvironment();
const stopping = new AbortController();

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  installStopHandlers();
  try {
    const options = readOptions(args);
    if (options === "help") {
      process.stdout.write(`${help}\n`);
      return 0;
    }
    await runUntilStopped(options);
    print("Stopped.");
    return 0;
  } catch (error) {
    if (error instanceof StartupError) return printError(error.message, error.exitCode);
    if (error instanceof ConfigFaults)
      return printError(`${error.message}\nCorrect or unset these settings and try again.`, 1);
    throw error;
  }
}

async function runUntilStopped(options: DevOptions): Promise<void> {
  const opened = new AsyncDisposableStack();
  try {
    const everything = await startEverything(options, { environment, opened, stopping: stopping.signal, step, print });
    if (stopping.signal.aborted) return;
    announce(everything, options);
    await whileAlive(stopRequest(), everything.processes);
  } catch (error) {
    if (!(error instanceof StoppedEarly)) throw error;
  } finally {
    await opened.disposeAsync();
  }
}

function announce(everything: Everything, { json }: DevOptions): void {
  // Since the start of the Node process.
  const seconds = (performance.now() / 1_000).toFixed(1);
  if (!json) {
    process.stdout.write(welcome(everything, seconds));
    return;
  }
  const { addresses, account, operatorToken } = everything;
  const { url, opsUrl } = addresses;
  const { liveKey, testKey, managementKey, walletId, signInLink } = account;
  const ready = { url, opsUrl, liveKey, testKey, managementKey, walletId, operatorToken, signInLink };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  print(`Ready in ${seconds} s.`);
}

async function step<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if (stopping.signal.aborted) throw new StoppedEarly();
  const startedMs = performance.now();
  const result = await work();
  print(`${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(5)} s  ${name}`);
  return result;
}

function installStopHandlers(): void {
  // Repeated signals are harmless: npm forwards the Ctrl-C that the terminal also sends to us.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  // The reader of a pipe is gone: stop instead of leaving processes behind.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stopping.abort());
  // npm or its shell may be killed without a signal reaching us.
  if (!environment["npm_lifecycle_event"]) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stopping.abort();
  }, 500).unref();
}

function stopRequest(): Promise<void> {
  return new Promise((resolve) => {
    if (stopping.signal.aborted) resolve();
    else stopping.signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function print(line: string): void {
  process.stderr.write(`${line}\n`);
}

function printError(text: string, exitCode: number): number {
  print(text);
  return exitCode;
}
