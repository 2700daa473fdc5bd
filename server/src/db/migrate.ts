import { readdirSync } from "node:fs";
import { runner } from "node-pg-migrate";

const migrationsFolder = new URL("../../migrations", import.meta.url).pathname;

/** The migrations this code was written for, in order, named as the database records them. */
export function expectedMigrations(): string[] {
  return readdirSync(migrationsFolder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => file.slice(0, -".sql".length));
}

/** Brings a database up to `expectedMigrations`. Run as the owner; a second runner waits for the first. */
export async function migrate(databaseUrl: string, log: (line: string) => void): Promise<string[]> {
  const applied = await runner({
    databaseUrl,
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
