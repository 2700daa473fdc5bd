import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { type Account, findAccount } from "../../../src/dev/postgres-programs.ts";
import { until } from "../assertions/until.ts";
import { findClusterPrograms, makeCluster } from "./make-cluster.ts";

// A separate PostgreSQL that the test can kill.

export interface PrivatePostgres {
  superuserUrl: string;
  port: number;
  /** Data folder and program folder. */
  data: string;
  programs: string;
  /** Sends SIGKILL to the postmaster. Its child processes notice and exit. */
  killPostmaster: () => Promise<void>;
  /** A fast shutdown. Resolves when all connections are closed. */
  stop: () => Promise<void>;
  /** Waits until it accepts connections; if it has exited, starts it again on the same data, as a supervisor would. */
  restart(): Promise<void>;
  log(): string;
  close(): Promise<void>;
}

export interface PrivatePostgresOptions {
  /** Such as "archive_mode=on". */
  settings?: readonly string[];
  /** An existing data folder, instead of an empty cluster. */
  data?: string;
  /** The folder "native" of an npm package with PostgreSQL. Default: Debian's programs. */
  packaged?: string;
}

export async function startPrivatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
  const account = findAccount();
  const home = mkdtempSync(join(tmpdir(), "pennyblack-crash-"));
  chmodSync(home, 0o755);
  const folder = join(home, "cluster");
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const { programs, data } =
    options.data === undefined
      ? makeCluster(folder, account, options.packaged)
      : { programs: findClusterPrograms(folder, account, options.packaged), data: options.data };
  const port = await choosePort({ host: "127.0.0.1" });
  const superuserUrl = `postgres://postgres@127.0.0.1:${port}/postgres`;

  const output: string[] = [];
  let postmaster: ChildProcess | undefined;
  // In case the test ends without closing it.
  const abandon = (): void => {
    postmaster?.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  };
  process.once("exit", abandon);

  async function restart(): Promise<void> {
    await until("PostgreSQL accepts connections", async () => {
      if (postmaster === undefined || hasEnded(postmaster)) {
        const program = join(programs, "postgres");
        postmaster = spawnPostmaster({ program, data, port, account, settings: options.settings ?? [] });
        postmaster.stderr?.on("data", (chunk: Buffer) => output.push(chunk.toString()));
      }
      return canLogIn(superuserUrl);
    });
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (postmaster === undefined || hasEnded(postmaster)) return;
    const ended = once(postmaster, "exit");
    postmaster.kill(signal);
    await ended;
  }

  await restart();
  return {
    superuserUrl,
    port,
    data,
    programs,
    killPostmaster: () => end("SIGKILL"),
    stop: () => end("SIGINT"),
    restart,
    log: () => output.join(""),
    async close() {
      // An immediate shutdown, because the data is deleted anyway.
      await end("SIGQUIT");
      rmSync(home, { recursive: true, force: true });
      process.removeListener("exit", abandon);
    },
  };
}

/** Process ids of the back ends that serve an application. */
export async function backEndsOf(superuserUrl: string, applicationName: string): Promise<number[]> {
  const client = new pg.Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = $1 order by state_change desc",
      [applicationName],
    );
    return rows.map((row) => row.pid);
  } finally {
    await client.end();
  }
}

interface PostmasterOptions {
  program: string;
  data: string;
  port: number;
  account: Account | undefined;
  settings: readonly string[];
}

function spawnPostmaster({ program, data, port, account, settings }: PostmasterOptions): ChildProcess {
  const all = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", ...settings];
  return spawn(program, ["-D", data, "-p", String(port), ...all.flatMap((setting) => ["-c", setting])], {
    ...account,
    cwd: dirname(data),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function canLogIn(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  // Emitted when the connection breaks after it was established.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
