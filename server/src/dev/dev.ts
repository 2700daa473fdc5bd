import { ConfigFaults, readEnvironment } from "../config.ts";
import { formatUsd } from "../lib/money.ts";
import { CannotStart } from "./cannot-start.ts";
import { type DevOptions, help, readOptions } from "./read-options.ts";
import { whileAlive } from "./start-child.ts";
import { type Everything, startEverything } from "./start-everything.ts";
import { welcome } from "./welcome.ts";

// `npm run dev`: a whole Pennyblack on a machine that has only Node and npm. It starts a PostgreSQL, unless
// DATABASE_URL names one, makes roles, tables and a wallet, starts a server and a worker, and on Ctrl-C takes
// everything down in the opposite order.

/** Someone wanted to stop while we were starting. */
class StoppedEarly extends Error {}

const environment = readEnvironment();
const stopping = new AbortController();

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  listenForTheEnd();
  try {
    const options = readOptions(args);
    if (options === "help") {
      process.stdout.write(`${help}\n`);
      return 0;
    }
    await runUntilStopped(options);
    say("Stopped.");
    return 0;
  } catch (error) {
    if (error instanceof CannotStart) return complain(error.message, error.exitCode);
    if (error instanceof ConfigFaults)
      return complain(`${error.message}\nCorrect or unset what is named and start again.`, 1);
    throw error;
  }
}

async function runUntilStopped(options: DevOptions): Promise<void> {
  const opened = new AsyncDisposableStack();
  try {
    const everything = await startEverything(options, { environment, opened, stopping: stopping.signal, step, say });
    if (stopping.signal.aborted) return;
    announce(everything, options);
    await whileAlive(stopRequest(), everything.parts);
  } catch (error) {
    if (!(error instanceof StoppedEarly)) throw error;
  } finally {
    await opened.disposeAsync();
  }
}

function announce(everything: Everything, options: DevOptions): void {
  const { addresses, account, upstreams, operatorToken, isThrowaway } = everything;
  const { url, opsUrl } = addresses;
  const { liveKey, testKey, managementKey, walletId, signInLink } = account;
  // Since Node itself began, which is as close as we get to when the person pressed Enter.
  const seconds = (performance.now() / 1_000).toFixed(1);
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ url, opsUrl, liveKey, testKey, managementKey, walletId, operatorToken, signInLink })}\n`
      : welcome({
          url,
          opsUrl,
          account,
          upstreams,
          operatorToken,
          isThrowaway,
          seconds,
          balance: formatUsd(options.balance),
        }),
  );
  if (options.json) say(`Ready after ${seconds} s.`);
}

async function step<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if (stopping.signal.aborted) throw new StoppedEarly();
  const beganMs = performance.now();
  const result = await work();
  say(`${((performance.now() - beganMs) / 1_000).toFixed(1).padStart(5)} s  ${name}`);
  return result;
}

function listenForTheEnd(): void {
  // Twice is as good as once: npm passes on the Ctrl-C that the terminal has sent us already.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());
  // Whoever read our words has gone. That is no reason to leave things running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => stopping.abort());
  // npm, or the shell between, may be killed without a signal reaching us.
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

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function complain(text: string, exitCode: number): number {
  say(text);
  return exitCode;
}
