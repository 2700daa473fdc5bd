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

// A PostgreSQL of the test's own, to be killed at will.

export interface PrivatePostgres {
  superuserUrl: string;
  port: number;
  /** The folder of its files, and the folder of its programs. */
  data: string;
  programs: string;
  /** Ends the postmaster without a word, by its own process id. Its children notice and follow. */
  killPostmaster: () => Promise<void>;
  /** Waits until it lets us in; if it is dead, starts it over the data it left, as a supervisor would, until it stays. */
  restart(): Promise<void>;
  log(): string;
  close(): Promise<void>;
}

export interface PrivatePostgresOptions {
  /** Such as "archive_mode=on". */
  settings?: readonly string[];
  /** A data folder that is there already, instead of an empty cluster. */
  data?: string;
}

export async function startPrivatePostgres(options: PrivatePostgresOptions = {}): Promise<PrivatePostgres> {
  const account = findAccount();
  const home = mkdtempSync(join(tmpdir(), "pennyblack-crash-"));
  chmodSync(home, 0o755);
  const room = join(home, "room");
  mkdirSync(room);
  chmodSync(room, 0o777);
  const { programs, data } =
    options.data === undefined
      ? makeCluster(room, account)
      : { programs: findClusterPrograms(room, account), data: options.data };
  const port = await choosePort({ host: "127.0.0.1" });
  const superuserUrl = `postgres://postgres@127.0.0.1:${port}/postgres`;

  const output: string[] = [];
  let postmaster: ChildProcess | undefined;
  // The last resort, should the test end without closing.
  const abandon = (): void => {
    postmaster?.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  };
  process.once("exit", abandon);

  async function restart(): Promise<void> {
    await until("PostgreSQL lets us in", async () => {
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
    restart,
    log: () => output.join(""),
    async close() {
      // At once: what it would still write is thrown away a moment later.
      await end("SIGQUIT");
      rmSync(home, { recursive: true, force: true });
      process.removeListener("exit", abandon);
    },
  };
}

/** The process ids of a cluster's back ends that serve an application, as the cluster itself says. */
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
  // A connection that breaks after it was made says so here.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
