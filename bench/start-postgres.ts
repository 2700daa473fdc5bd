import { join } from "node:path";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { findAccount } from "../server/src/dev/postgres-programs.ts";
import { type DatabaseUrls, prepareDatabase } from "../server/src/dev/prepare-database.ts";
import { makeCluster } from "../server/test/support/services/make-cluster.ts";
import { type Harness, makeFolder } from "./harness.ts";

export interface Postgres {
  /** The postmaster, parent of all PostgreSQL processes. */
  pid: number;
  /** The folder with the PostgreSQL programs. */
  programs: string;
  urls: DatabaseUrls;
  /** Superuser connection. */
  adminUrl: string;
  /** Durability and memory settings, as reported by the server. */
  settings: string;
  version: string;
  /** Restarts with the same data and these additional settings. Open connections are closed. */
  restart(settings: readonly string[]): Promise<Postgres>;
}

// Durability settings keep PostgreSQL's defaults, so commits survive a power failure.
const sizeSettings = ["shared_buffers=512MB", "max_wal_size=8GB"];

const reportedSettings = [
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_sync_method",
  "shared_buffers",
  "max_wal_size",
  "checkpoint_timeout",
  "autovacuum",
  "data_checksums",
];

/** Starts a temporary cluster with our roles and tables. */
export async function startPostgres(harness: Harness, settings: readonly string[] = []): Promise<Postgres> {
  const account = findAccount();
  const home = makeFolder(join(harness.folder, "postgres"));
  const { programs, data } = makeCluster(home, account);
  const port = await choosePort({ host: "127.0.0.1" });
  const adminUrl = `postgres://postgres@127.0.0.1:${port}/pennyblack`;

  async function start(extraSettings: readonly string[]): Promise<Postgres> {
    const allSettings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...sizeSettings, ...extraSettings];
    const { pid, stop } = await harness.start({
      name: "PostgreSQL",
      program: join(programs, "postgres"),
      args: ["-D", data, "-p", String(port), ...allSettings.flatMap((setting) => ["-c", setting])],
      account,
      port,
      readyText: "ready to accept connections",
      // Immediate shutdown, because the data is deleted anyway.
      stopSignal: "SIGQUIT",
    });
    const urls = await prepareDatabase(adminUrl);
    const restart = async (next: readonly string[]): Promise<Postgres> => {
      await checkpoint(adminUrl);
      await stop("SIGINT");
      return start(next);
    };
    return { pid, programs, urls, adminUrl, restart, ...(await readSettings(urls.owner)) };
  }

  return start(settings);
}

export function connectAsOwner(urls: DatabaseUrls): Pool {
  return connect(urls.owner, 2);
}

/** A pool with a long statement timeout, for seeding, reconciliation and other work on whole tables. */
export function connect(url: string, connections: number): Pool {
  const name = "pennyblack bench";
  return createPool({ url, name, connections, statementTimeoutMs: 600_000, onIdleError: () => undefined });
}

/** Leaves little to write on shutdown, so that it does not exceed the stop timeout. */
async function checkpoint(adminUrl: string): Promise<void> {
  const admin = connect(adminUrl, 1);
  try {
    await admin.query("checkpoint");
  } finally {
    await admin.end();
  }
}

async function readSettings(ownerUrl: string): Promise<{ settings: string; version: string }> {
  const pool = connect(ownerUrl, 1);
  try {
    const { rows } = await pool.query<{ name: string; value: string }>(
      "select name, current_setting(name) as value from unnest($1::text[]) as name",
      [[...reportedSettings, "server_version"]],
    );
    const values = new Map(rows.map((row) => [row.name, row.value]));
    return {
      version: values.get("server_version") ?? "",
      settings: reportedSettings.map((name) => `${name}=${values.get(name)}`).join(" "),
    };
  } finally {
    await pool.end();
  }
}
