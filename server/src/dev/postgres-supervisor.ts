import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { choosePort } from "./choose-port.ts";
import { openPostgresFolder } from "./postgres-folder.ts";
import { findAccount, findPrograms } from "./postgres-programs.ts";
import { StartupError } from "./startup-error.ts";

// A separate process that stops PostgreSQL when the IPC channel closes, so even if `npm run dev` is ended by kill -9. It
// deletes the data unless it was started with a folder to keep it in. A second argument deletes the data of earlier starts.

export type Report = { url: string } | { failure: string };

const [keptFolder, reset] = process.argv.slice(2);
const account = findAccount();
const folder = makeFolder();
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
  const programs = findPrograms(folder, account);
  const passwordFile = join(folder, "password");
  const dataFolder = join(folder, "data");
  if (!existsSync(dataFolder)) await createData(programs, { passwordFile, dataFolder });
  const port = await choosePort({ host: "127.0.0.1" });
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
  // Durability does not matter for data that is deleted at the end.
  if (keptFolder === undefined) settings.push("fsync=off", "full_page_writes=off");
  const flags = settings.flatMap((setting) => ["-c", setting]);
  await runUntil("ready", join(programs, "bin/postgres"), ["-D", dataFolder, "-p", String(port), ...flags]);
  const password = readFileSync(passwordFile, "utf8");
  return `postgres://postgres:${password}@127.0.0.1:${port}/pennyblack`;
}

/** Renamed when complete, so that an interrupted start leaves no unusable data. */
async function createData(
  programs: string,
  { passwordFile, dataFolder }: { passwordFile: string; dataFolder: string },
): Promise<void> {
  const unfinished = `${dataFolder}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, randomBytes(18).toString("base64url"), { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  await runUntil("exit", join(programs, "bin/initdb"), [
    `--pgdata=${unfinished}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--no-locale",
    "--encoding=UTF8",
    "--no-sync",
  ]);
  renameSync(unfinished, dataFolder);
}

function makeFolder(): string {
  if (keptFolder !== undefined) return openPostgresFolder(keptFolder, { account, reset: reset !== undefined });
  const temporary = mkdtempSync(join(tmpdir(), "pennyblack-dev-"));
  if (account) chownSync(temporary, account.uid, account.gid);
  return temporary;
}

/** Runs a program until it exits or accepts connections. After "ready", its exit ends this process too. */
function runUntil(goal: "exit" | "ready", program: string, args: string[]): Promise<void> {
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
          `PostgreSQL failed to start: ${why}\n${keptFolder === undefined ? "" : "To delete its data and start again: npm run dev -- --reset\n"}To use your own: DATABASE_URL=postgres://postgres@localhost/pennyblack npm run dev`,
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
  if (keptFolder === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(exitCode);
}

function report(what: Report, andThen: () => void = () => {}): void {
  if (process.connected && process.send) process.send(what, undefined, undefined, andThen);
  else andThen();
}
