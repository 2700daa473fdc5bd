import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CannotStart } from "./cannot-start.ts";
import { choosePort } from "./choose-port.ts";
import { type Account, findAccount, findPrograms } from "./postgres-programs.ts";

// A process of its own, so that PostgreSQL and its data go away however `npm run dev` ends, kill -9 included: when the
// channel to it closes, PostgreSQL is stopped and the folder removed. It has no other way to stop.

export type Report = { url: string } | { failure: string };

const folder = mkdtempSync(join(tmpdir(), "pennyblack-dev-"));
let running: ChildProcess | undefined;
let isStopping = false;

process.once("disconnect", () => stop(0));
process.on("SIGTERM", () => stop(0));
// For the terminal's Ctrl-C: `npm run dev` decides the order in which things stop.
process.on("SIGINT", () => {});

try {
  report({ url: await startPostgres() });
} catch (error) {
  report({ failure: error instanceof Error ? error.message : String(error) }, () => stop(1));
}

async function startPostgres(): Promise<string> {
  const account = findAccount();
  if (account) chownSync(folder, account.uid, account.gid);
  const programs = findPrograms(folder, account);
  const password = randomBytes(18).toString("base64url");
  const passwordFile = join(folder, "password");
  const dataFolder = join(folder, "data");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const port = await choosePort({ host: "127.0.0.1" });

  const initdb = [`--pgdata=${dataFolder}`, "--username=postgres", `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  await runUntil("exit", account, join(programs, "bin/initdb"), [
    ...initdb,
    "--no-locale",
    "--encoding=UTF8",
    "--no-sync",
  ]);
  // The data is thrown away at the end, so nothing has to survive a power cut.
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off"];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  await runUntil("ready", account, join(programs, "bin/postgres"), ["-D", dataFolder, "-p", String(port), ...flags]);
  return `postgres://postgres:${password}@127.0.0.1:${port}/pennyblack`;
}

/** Runs a program until it is done, or until it says that it accepts connections; then its end is our end. */
function runUntil(
  goal: "exit" | "ready",
  account: Account | undefined,
  program: string,
  args: string[],
): Promise<void> {
  const child = spawn(program, args, { ...account, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  running = child;
  let said = "";
  return new Promise((resolve, reject) => {
    let isReady = false;
    const fail = (why: string): void => {
      if (isReady && !isStopping) process.stderr.write(`PostgreSQL: ${why}\n`);
      if (isReady) stop(1);
      reject(
        new CannotStart(
          `PostgreSQL cannot start: ${why}\nUse one of yours: DATABASE_URL=postgres://postgres@localhost/pennyblack npm run dev`,
        ),
      );
    };
    child.stderr.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-4_000);
      if (goal !== "ready" || !said.includes("ready to accept connections")) return;
      isReady = true;
      resolve();
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => {
      running = undefined;
      if (goal === "exit" && code === 0) resolve();
      else fail(said.trim() || `it ended with code ${code}`);
    });
  });
}

function stop(exitCode: number): void {
  if (isStopping) return;
  isStopping = true;
  if (!running) return leave(exitCode);
  running.once("exit", () => leave(exitCode));
  // SIGINT is PostgreSQL's fast shutdown: it waits for no client.
  running.kill("SIGINT");
}

function leave(exitCode: number): never {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(exitCode);
}

function report(what: Report, andThen: () => void = () => {}): void {
  if (process.connected && process.send) process.send(what, undefined, undefined, andThen);
  else andThen();
}
