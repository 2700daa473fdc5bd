import { readdirSync } from "node:fs";
import { runner } from "node-pg-migrate";
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
 * Why this code must not run on a database, or nothing if it may. It must not start on one that is newer than itself,
 * but a server that already runs goes on while its successor's migrations arrive.
 */
export async function findMigrationFault(db: Queryable, when: "starting" | "running"): Promise<string | undefined> {
  try {
    const { rows } = await db.query<{ name: string }>("select pb.applied_migrations() as name");
    const applied = rows.map((row) => row.name);
    const expected = expectedMigrations();
    const missing = expected.find((name) => !applied.includes(name));
    const unknown = applied.find((name) => !expected.includes(name));
    if (missing) return `The database lacks the migration ${missing}. Run: npm run migrate`;
    if (unknown && when === "starting") return `The database has a migration this version does not know: ${unknown}.`;
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "no connection";
    return `The database cannot be used (${code}). Check its address; run: npm run migrate`;
  }
}

/** Brings a database up to `expectedMigrations`. Run as the owner; a second runner waits for the first. */
export async function migrate(databaseUrl: string, log: (line: string) => void): Promise<string[]> {
  const applied = await runner({
    databaseUrl: await findPrimary(databaseUrl),
    dir: migrationsFolder,
    direction: "up",
    migrationsTable: "migrations",
    migrationsSchema: "pb",
    createMigrationsSchema: true,
    singleTransaction: false,
    advisoryLockMode: "wait",
    logger: { debug: () => {}, info: () => {}, warn: log, error: log },
  });
  return applied.map((migration) => migration.name);
}
