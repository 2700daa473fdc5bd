import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choosePort } from "./choose-port.ts";
import { type Account, findAccount, findPrograms } from "./postgres-programs.ts";
import { StartupError } from "./startup-error.ts";

// A separate process that removes PostgreSQL and its data however `npm run dev` ends, kill -9 included: when the IPC
// channel closes, it stops PostgreSQL and deletes the folder.

export type Report = { url: string } | { failure: string };

const folder = mkdtempSync(join(tmpdir(), "pennyblack-dev-"));
let running: ChildProcess | undefined;
let isStopping = false;

process.once("disconnect", () => stop(0));
process.on("SIGTERM", () => stop(0));
// Ignore Ctrl-C from the terminal: `npm run dev` stops its processes in order.
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
  // The data is deleted at the end, so durability does not matter.
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "full_page_writes=off"];
  const flags = settings.flatMap((setting) => ["-c", setting]);
  await runUntil("ready", account, join(programs, "bin/postgres"), ["-D", dataFolder, "-p", String(port), ...flags]);
  return `postgres://postgres:${password}@127.0.0.1:${port}/pennyblack`;
}

/** Runs a program until it exits or accepts connections. After "ready", its exit ends this process too. */
function runUntil(
  goal: "exit" | "ready",
  account: Account | undefined,
  program: string,
  args: string[],
): Promise<void> {
  const child = spawn(program, args, { ...account, cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  running = child;
  let stderr = "";
  return new Promise((resolve, reject) => {
    let isReady = false;
    const fail = (why: string): void => {
      if (isReady && !isStopping) process.stderr.write(`PostgreSQL: ${why}\n`);
      if (isReady) stop(1);
      reject(
        new StartupError(
          `PostgreSQL failed to start: ${why}\nTo use your own: DATABASE_URL=postgres://postgres@localhost/pennyblack npm run dev`,
        ),
      );
    };
    child.stderr.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString()).slice(-4_000);
      if (goal !== "ready" || !stderr.includes("ready to accept connections")) return;
      isReady = true;
      resolve();
    });
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => {
      running = undefined;
      if (goal === "exit" && code === 0) resolve();
      else fail(stderr.trim() || `exit code ${code}`);
    });
  });
}

function stop(exitCode: number): void {
  if (isStopping) return;
  isStopping = true;
  if (!running) return leave(exitCode);
  running.once("exit", () => leave(exitCode));
  // SIGINT is PostgreSQL's fast shutdown: it disconnects clients.
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
