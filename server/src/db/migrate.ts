import { readdirSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { findPrimary } from "./find-primary.ts";
import type { Queryable } from "./pool.ts";

const migrationsFolder = new URL("../../migrations", import.meta.url).pathname;

/** The migrations this code was written for, in order, named as the database records them. */
export function expectedMigrations(): string[] {
  return readdirSync(migrationsFolder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => file.slice(0, -".sql".length));
}

/**
 * Why this code must not run on a database, or nothing if it may. A server that already runs goes on while its
 * successor's migrations arrive. To start on a database that is newer than itself it must know the migration that the
 * database says is old enough: the newer code knows what it changed, the older one cannot.
 */
export async function findMigrationFault(db: Queryable, when: "starting" | "running"): Promise<string | undefined> {
  try {
    const { rows } = await db.query<{ name: string }>("select pb.applied_migrations() as name");
    const applied = rows.map((row) => row.name);
    const expected = expectedMigrations();
    const missing = expected.find((name) => !applied.includes(name));
    const unknown = applied.find((name) => !expected.includes(name));
    if (missing) return `The database lacks the migration ${missing}. Run: npm run migrate`;
    if (unknown && when === "starting" && !expected.includes(await readServesSince(db)))
      return `The database has a migration this version does not know: ${unknown}. Start a newer version.`;
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
    return `The database cannot be used (${code}). Check its address; run: npm run migrate`;
  }
}

async function readServesSince(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ name: string }>("select pb.serves_since() as name");
  return rows[0]?.name ?? "";
}

/**
 * Brings a database up to `expectedMigrations`. Run as the owner, also while searches run; a second runner waits for the
 * first.
 *
 * A statement that wants a table for itself waits for whoever reads it, and every search then waits behind that
 * statement. So it waits a second, less than any search does, gives way, and tries again.
 */
export async function migrate(
  databaseUrl: string,
  log: (line: string) => void,
  folder = migrationsFolder,
): Promise<string[]> {
  const client = new pg.Client({ connectionString: await findPrimary(databaseUrl) });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('pennyblack migrate'))");
    await client.query(`set lock_timeout = ${lockTimeoutMs}`);
    const before = await listApplied(client);
    for (let attempt = 1; ; attempt += 1) {
      const failure = await runAll(client, folder, log).catch((error: unknown) => ({ error }));
      if (!failure) break;
      // The library leaves the transaction of the migration that failed open.
      await client.query("rollback");
      if (!isLockTimeout(failure.error) || attempt === mostAttempts) throw failure.error;
      if (attempt % 10 === 1)
        log("A migration needs a lock that somebody holds. It gives way to searches and tries again.");
      await wait(lockTimeoutMs * (1 + Math.random()));
    }
    return (await listApplied(client)).filter((name) => !before.includes(name));
  } finally {
    await client.end();
  }
}

const lockTimeoutMs = 1_000;
/** About five minutes. */
const mostAttempts = 120;

async function runAll(dbClient: pg.Client, folder: string, log: (line: string) => void): Promise<undefined> {
  await runner({
    dbClient,
    dir: folder,
    direction: "up",
    migrationsTable: "migrations",
    migrationsSchema: "pb",
    createMigrationsSchema: true,
    singleTransaction: false,
    noLock: true,
    logger: { debug: () => {}, info: () => {}, warn: log, error: () => {} },
  });
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "55P03";
}

async function listApplied(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean }>("select to_regclass('pb.migrations') is not null as exists");
  if (!rows[0]?.exists) return [];
  return (await client.query<{ name: string }>("select name from pb.migrations order by id")).rows.map(
    ({ name }) => name,
  );
}
