import { join } from "node:path";
import { createPool, type Pool } from "../server/src/db/pool.ts";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { findAccount } from "../server/src/dev/postgres-programs.ts";
import { type DatabaseUrls, prepareDatabase } from "../server/src/dev/prepare-database.ts";
import { makeCluster } from "../server/test/make-cluster.ts";
import { makeFolder, type Workshop } from "./workshop.ts";

export interface Postgres {
  /** Of the postmaster, the parent of all the others. */
  pid: number;
  /** The folder of its programs. */
  programs: string;
  urls: DatabaseUrls;
  /** For what even the owner of the tables may not do. */
  adminUrl: string;
  /** What decides how durable a commit is and how much memory it has, as the server itself says. */
  settings: string;
  version: string;
  /** The same data under these settings beside the usual ones. What was connected is cut off. */
  restart(settings: readonly string[]): Promise<Postgres>;
}

// Sizes only. Whatever decides whether a commit survives a power cut keeps PostgreSQL's default, which is yes.
const sizes = ["shared_buffers=512MB", "max_wal_size=8GB"];

const settingsShown = [
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

/** A cluster of its own, with our roles and tables. */
export async function startPostgres(workshop: Workshop, settings: readonly string[] = []): Promise<Postgres> {
  const account = findAccount();
  const home = makeFolder(join(workshop.folder, "postgres"));
  const { programs, data } = makeCluster(home, account);
  const port = await choosePort({ host: "127.0.0.1" });
  const adminUrl = `postgres://postgres@127.0.0.1:${port}/pennyblack`;

  async function start(more: readonly string[]): Promise<Postgres> {
    const all = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...sizes, ...more];
    const { pid, stop } = await workshop.start({
      name: "PostgreSQL",
      program: join(programs, "postgres"),
      args: ["-D", data, "-p", String(port), ...all.flatMap((setting) => ["-c", setting])],
      account,
      port,
      readyWords: "ready to accept connections",
      // At once: what it would still write is thrown away a moment later.
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

/** For seeding and reconciling, which read and write whole tables. */
export function connectAsOwner(urls: DatabaseUrls): Pool {
  return connectPatiently(urls.owner, 2);
}

function connectPatiently(url: string, connections: number): Pool {
  return createPool({
    url,
    name: "pennyblack bench",
    connections,
    statementTimeoutMs: 600_000,
    onIdleError: () => undefined,
  });
}

/** So that stopping has little left to write, and is not killed for taking long. */
async function checkpoint(adminUrl: string): Promise<void> {
  const admin = connectPatiently(adminUrl, 1);
  try {
    await admin.query("checkpoint");
  } finally {
    await admin.end();
  }
}

async function readSettings(ownerUrl: string): Promise<{ settings: string; version: string }> {
  const pool = createPool({ url: ownerUrl, name: "pennyblack bench", connections: 1, onIdleError: () => undefined });
  try {
    const { rows } = await pool.query<{ name: string; value: string }>(
      "select name, current_setting(name) as value from unnest($1::text[]) as name",
      [[...settingsShown, "server_version"]],
    );
    const values = new Map(rows.map((row) => [row.name, row.value]));
    return {
      version: values.get("server_version") ?? "",
      settings: settingsShown.map((name) => `${name}=${values.get(name)}`).join(" "),
    };
  } finally {
    await pool.end();
  }
}
