import { setTimeout as wait } from "node:timers/promises";
import { runner } from "node-pg-migrate";
import pg from "pg";
import { findPrimary } from "./find-primary.ts";
import { installJobQueue } from "./job-queue.ts";
import { makePartitions } from "./partitions.ts";
import { type Act, recordAct } from "./record-act.ts";
import { readSchemaFiles, type SchemaFiles, type SchemaObject, serverFolder } from "./schema-files.ts";

/** The database was not changed, because this release must not migrate it. */
export class MigrationRefused extends Error {}

export interface MigrateOptions {
  /** The server folder of the release to apply. */
  folder?: string;
  /** Deletes all data of a database with other migrations, instead of refusing it. */
  reset?: boolean;
  /** Default: the migration itself. */
  act?: Act;
}

export interface Applied {
  migrations: string[];
  /** The version of server/sql, if it was applied. */
  version: number | undefined;
}

/**
 * Brings a database up to this release's schema: migrations, then changed files of server/sql in one transaction, then the
 * tables of the job queue. Runs as the owner, even while searches run; a second runner waits for the first.
 *
 * A statement that needs an exclusive table lock waits for every reader, and every search waits behind that statement.
 * Lock waits are therefore short, and retried.
 */
export async function migrate(
  databaseUrl: string,
  log: (line: string) => void,
  { folder = serverFolder, reset = false, act = { operator: "migrate", reason: "none given" } }: MigrateOptions = {},
): Promise<Applied> {
  const files = readSchemaFiles(folder);
  const primaryUrl = await findPrimary(databaseUrl);
  const client = new pg.Client({ connectionString: primaryUrl });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtext('pennyblack migrate'))");
    await client.query(`set lock_timeout = ${lockTimeoutMs}`);
    await refuseNewer(client, files);
    if (await hasOtherMigrations(client, files)) {
      if (!reset) throw new MigrationRefused(otherMigrations);
      await withLockRetries(client, log, () => dropEverything(client));
    }
    const before = await readMigrations(client);
    await withLockRetries(client, log, () => runMigrations(client, files.migrationsFolder, log));
    await recordMigrations(client, files);
    const isApplied = await withLockRetries(client, log, () => applyObjects(client, files, act));
    await makePartitions(client, partitionDays);
    await installJobQueue(client, primaryUrl);
    return {
      migrations: (await readMigrations(client)).filter((name) => !before.includes(name)),
      version: isApplied ? files.version : undefined,
    };
  } finally {
    await client.end();
  }
}

/** Searches queue behind a lock request and then also wait for the change. They give up after three seconds. */
const lockTimeoutMs = 400;
/** About four minutes. */
const maxAttempts = 120;
const partitionDays = 14;
const baseline = "0001_baseline";

async function refuseNewer(client: pg.Client, files: SchemaFiles): Promise<void> {
  const version = await readVersion(client);
  if (version > files.version)
    throw new MigrationRefused(
      `The database has schema version ${version}; this release has version ${files.version}. Nothing was changed. Run the migrate command of the newer release.`,
    );
}

const otherMigrations =
  "The database was created by a development version with other migrations and cannot be migrated. Nothing was changed. Use another database, or run the command again with --reset, which deletes all data of this one.";

/**
 * Whether a migration was applied that does not exist here, or with other contents. Until the first release, the baseline is
 * edited in place.
 */
async function hasOtherMigrations(client: pg.Client, { migrations }: SchemaFiles): Promise<boolean> {
  const applied = await readMigrations(client);
  if (applied.some((name) => !migrations.some((known) => known.name === name))) return true;
  if ((await readVersion(client)) === 0) return false;
  const recorded = await readRecorded(client);
  const isOther = (checksum: string, found = checksum): boolean => found !== checksum;
  return (
    !recorded.has(migrationObject(baseline)) ||
    migrations.some(({ name, checksum }) => isOther(checksum, recorded.get(migrationObject(name))))
  );
}

async function readMigrations(client: pg.Client): Promise<string[]> {
  if (!(await exists(client, "pb.migrations"))) return [];
  const { rows } = await client.query<{ name: string }>("select name from pb.migrations order by id");
  return rows.map(({ name }) => name);
}

async function recordMigrations(client: pg.Client, { migrations }: SchemaFiles): Promise<void> {
  await client.query(
    `insert into pb.schema_objects (name, checksum) select * from unnest($1::text[], $2::text[])
     on conflict (name) do nothing`,
    [migrations.map(({ name }) => migrationObject(name)), migrations.map(({ checksum }) => checksum)],
  );
}

/** The name of a migration in pb.schema_objects. */
function migrationObject(name: string): string {
  return `migrations/${name}`;
}

async function readRecorded(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>("select * from pb.schema_objects");
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

async function dropEverything(client: pg.Client): Promise<void> {
  await client.query("drop schema if exists pb, graphile_worker cascade");
}

async function exists(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>("select to_regclass($1) is not null as found", [table]);
  return rows[0]?.found ?? false;
}

/** 0 until the functions were applied for the first time. */
async function readVersion(client: pg.Client): Promise<number> {
  if (!(await exists(client, "pb.schema_version"))) return 0;
  const { rows } = await client.query<{ version: number }>("select version from pb.schema_version");
  return rows[0]?.version ?? 0;
}

async function withLockRetries<Result>(
  client: pg.Client,
  log: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      // node-pg-migrate leaves the transaction of a failed migration open.
      await client.query("rollback");
      if (!isLockTimeout(error) || attempt === maxAttempts) throw error;
      if (attempt % 10 === 1) log("Waiting for a table lock. Searches continue; retrying every second or two.");
      await wait(1_000 * (1 + Math.random()));
    }
  }
}

async function runMigrations(dbClient: pg.Client, dir: string, log: (line: string) => void): Promise<void> {
  await runner({
    dbClient,
    dir,
    direction: "up",
    migrationsTable: "migrations",
    migrationsSchema: "pb",
    createMigrationsSchema: true,
    singleTransaction: false,
    noLock: true,
    logger: { debug: () => {}, info: () => {}, warn: log, error: () => {} },
  });
}

/**
 * Applies the objects that changed and records the version. Grants are applied with every change, because a function that
 * was dropped and created again has none. Returns false if there was nothing to do.
 */
async function applyObjects(client: pg.Client, { version, objects }: SchemaFiles, act: Act): Promise<boolean> {
  const recorded = await readRecorded(client);
  const changed = objects.filter(({ name, checksum }) => recorded.get(name) !== checksum);
  const removed = [...recorded.keys()].filter(
    (name) => !name.startsWith(migrationObject("")) && !objects.some((object) => object.name === name),
  );
  const previous = await readVersion(client);
  if (changed.length + removed.length === 0 && previous === version) return false;
  const [onTables, others] = [changed.filter(isOnTable), changed.filter((object) => !isOnTable(object))];
  const grants = objects.filter(({ name }) => name === "roles.sql" && !changed.some((object) => object.name === name));
  await client.query("begin");
  for (const object of [...others, ...grants]) await client.query(statementsOf(object));
  // Last, because searches wait until the commit.
  await lockTables(client, onTables);
  await client.query(onTables.map(statementsOf).join(";\n"));
  for (const name of removed) {
    await client.query(dropOf(name));
    await client.query("delete from pb.schema_objects where name = $1", [name]);
  }
  await client.query(
    `insert into pb.schema_objects (name, checksum) select * from unnest($1::text[], $2::text[])
     on conflict (name) do update set checksum = excluded.checksum`,
    [changed.map(({ name }) => name), changed.map(({ checksum }) => checksum)],
  );
  await client.query(
    `insert into pb.schema_version (version) values ($1)
     on conflict (single_row) do update set version = excluded.version, applied_at = clock_timestamp()`,
    [version],
  );
  const after = { version, changed: [...changed.map(({ name }) => name), ...removed] };
  const entry = { act: "database.migrate", subject: `schema ${version}`, before: { version: previous }, after };
  await recordAct(client, act, entry);
  await client.query("commit");
  return true;
}

/**
 * Locks the tables of policies and triggers in one statement with a timeout. The lock timeout applies to each table, and
 * searches would wait for the sum.
 */
async function lockTables(client: pg.Client, objects: readonly SchemaObject[]): Promise<void> {
  const tables = new Set(objects.flatMap(({ name }) => objectOnTable.exec(name)?.[3] ?? []));
  if (tables.size === 0) return;
  await client.query(`set local statement_timeout = ${lockTimeoutMs}`);
  await client.query(`lock table ${[...tables].join(", ")} in access exclusive mode`);
  await client.query("set local statement_timeout = 0");
}

const objectOnTable = /^(policy|trigger) (\w+) on (pb\.\w+)$/;

function isOnTable({ name }: SchemaObject): boolean {
  return objectOnTable.test(name);
}

/** PostgreSQL has no CREATE OR REPLACE for policies and constraint triggers. */
function statementsOf({ name, text }: SchemaObject): string {
  return /^create (?:policy|constraint trigger) /m.test(text) ? `${dropOf(name)};\n${text}` : text;
}

function dropOf(name: string): string {
  const [, kind, object, table] = objectOnTable.exec(name) ?? [];
  return kind ? `drop ${kind} if exists ${object} on ${table}` : "select";
}

/** The timeout of a lock, or of the statement that locks several tables. */
function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "55P03" || error.code === "57014");
}
