import { setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import pg from "pg";
import { nameCell } from "../cells/cells.ts";
import { readIdentity } from "../db/fence.ts";
import { findPrimary, NoPrimary } from "../db/find-primary.ts";
import { MigrationRefused, migrate } from "../db/migrate.ts";
import { createRoles, grantAdminRoles, grantDatabase, roles, servingRoles } from "../db/roles.ts";
import { shareTimeline } from "../db/share-timeline.ts";
import { formatUsd } from "../lib/money.ts";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { setTrialTerms } from "../wallet/wallet.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";

export const databaseCommands: Record<string, Command> = {
  roles: {
    role: "owner",
    changes: true,
    summary: "Create the roles and an empty database, to restore a dump into.",
    run: makeRoles,
  },
  setup: {
    role: "owner",
    changes: true,
    summary:
      "Migrate the database. Creates the roles first if PENNYBLACK_ADMIN_DATABASE_URL is set. --reset deletes all data of a database that another development version created.",
    options: ["--reset"],
    run: setUp,
  },
  accept: {
    role: "operator",
    changes: true,
    summary: "Let servers use this database instead of the one they used before, after a restore. Needs REDIS_URL.",
    run: accept,
  },
};

async function makeRoles({ print, readSettings }: CommandContext): Promise<void> {
  const { adminDatabaseUrl } = readSettings(["adminDatabaseUrl"]);
  if (!adminDatabaseUrl) throw new CommandFailed("Set PENNYBLACK_ADMIN_DATABASE_URL to a superuser connection.");
  await prepareCluster(adminDatabaseUrl, { print, readSettings });
}

async function setUp({ values, pool, print, readSettings, act }: CommandContext): Promise<void> {
  const { adminDatabaseUrl, directDatabaseUrl, cell, ...trial } = readSettings([
    "adminDatabaseUrl",
    "directDatabaseUrl",
    "cell",
    "trialCredit",
  ]);
  if (adminDatabaseUrl) {
    await prepareCluster(adminDatabaseUrl, { print, readSettings });
    await untilReplicated(directDatabaseUrl);
  }
  const options = { reset: values["reset"] === true, act };
  const { migrations, version } = await migrate(directDatabaseUrl, print, options).catch((error: unknown) => {
    if (error instanceof MigrationRefused) throw new CommandFailed(error.message);
    if (adminDatabaseUrl || !isMissing(error)) throw error;
    throw new CommandFailed(howToMakeRoles(directDatabaseUrl), { cause: error });
  });
  const applied = [...migrations, ...(version === undefined ? [] : [`schema version ${version}`])];
  const terms = { amount: trial.trialCredit, maxPerDay: trial.trialsPerDay };
  const haveTermsChanged = await setTrialTerms(pool, terms, act);
  if (haveTermsChanged)
    print(`Set the trial credit to ${formatUsd(terms.amount)} USD, for up to ${terms.maxPerDay} accounts per day.`);
  const naming = cell === undefined ? "unchanged" : await nameCell(pool, cell, act);
  if (naming === "taken")
    throw new CommandFailed("The database belongs to a cell with another name. Set PENNYBLACK_CELL to that name.");
  if (naming === "named") print(`Named the cell ${cell}.`);
  if (applied.length > 0) print(`Applied ${applied.join(", ")}.`);
  else if (!haveTermsChanged) print("The database is up to date.");
}

async function accept(context: CommandContext): Promise<void> {
  const { pool, secrets, act, print, readSettings } = context;
  const { redisUrl, ledgerDatabaseUrl } = readSettings(["redisUrl", "ledgerDatabaseUrl"]);
  const identity = await readIdentity(pool);
  if (identity.isReplica) throw new CommandFailed("This database is a replica. Connect to the primary.");
  const { systemIdentifier, timeline } = identity;
  await pool.query("select pb.operator_accept_database($1, $2, $3)", [
    act.operator,
    act.reason,
    `system identifier ${systemIdentifier}, timeline ${timeline}`,
  ]);
  if (redisUrl === undefined) return print("REDIS_URL is not set, so servers share nothing. Restart all of them.");
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  try {
    await shareTimeline(redis, ledgerDatabaseUrl, secrets(), { ...identity, acceptedAt: Date.now() });
  } finally {
    redis.disconnect();
  }
  print(`Accepted the database with the system identifier ${systemIdentifier}. Servers use it within a second.`);
}

async function prepareCluster(
  adminUrl: string,
  { print, readSettings }: Pick<CommandContext, "print" | "readSettings">,
): Promise<void> {
  const urls = readSettings([
    "ledgerDatabaseUrl",
    "tenantDatabaseUrl",
    "paymentsDatabaseUrl",
    "operatorDatabaseUrl",
    "peopleDatabaseUrl",
    "workerDatabaseUrl",
    "directDatabaseUrl",
  ]);
  const passwords = {
    ledger: readPassword("DATABASE_URL", urls.ledgerDatabaseUrl, "ledger"),
    tenant: readPassword("PENNYBLACK_TENANT_DATABASE_URL", urls.tenantDatabaseUrl, "tenant"),
    ...(urls.paymentsDatabaseUrl && {
      payments: readPassword("PENNYBLACK_PAYMENTS_DATABASE_URL", urls.paymentsDatabaseUrl, "payments"),
    }),
    ...(urls.operatorDatabaseUrl && {
      operator: readPassword("PENNYBLACK_OPERATOR_DATABASE_URL", urls.operatorDatabaseUrl, "operator"),
    }),
    ...(urls.peopleDatabaseUrl && {
      people: readPassword("PENNYBLACK_PEOPLE_DATABASE_URL", urls.peopleDatabaseUrl, "people"),
    }),
    worker: readPassword("PENNYBLACK_WORKER_DATABASE_URL", urls.workerDatabaseUrl, "worker"),
    owner: readPassword("PENNYBLACK_DIRECT_DATABASE_URL", urls.directDatabaseUrl, "owner"),
  };
  const database = decodeURIComponent(readUrl(urls.directDatabaseUrl).pathname.slice(1));
  const client = new pg.Client({ connectionString: await findPrimary(adminUrl), connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await createRoles(client, passwords);
    const { rows } = await client.query("select 1 from pg_database where datname = $1", [database]);
    if (rows.length === 0) await client.query(`create database ${pg.escapeIdentifier(database)}`);
    await grantDatabase(client, database);
  } finally {
    await client.end();
  }
  print(`The roles ${Object.values(roles).join(", ")} can connect to the database ${database}.`);
}

const replicationMs = 60_000;

/** Replicas accept connections to the new database once they have replayed its creation. */
async function untilReplicated(url: string): Promise<void> {
  const deadline = Date.now() + replicationMs;
  for (;;) {
    try {
      await findPrimary(url);
      return;
    } catch (error) {
      if (!(error instanceof NoPrimary) || Date.now() > deadline) throw error;
      await wait(500);
    }
  }
}

/** The migrations grant to these roles by name, so the connection settings must use them. */
function readPassword(variable: string, url: string, role: keyof typeof roles): string {
  const { username, password } = readUrl(url);
  if (username !== roles[role])
    throw new CommandFailed(`${variable} must connect as ${roles[role]}. Change it and try again.`);
  return decodeURIComponent(password);
}

/** The URL with its first host only. */
function readUrl(url: string): URL {
  return new URL(spreadHosts(url)[0] ?? url);
}

/** The role, the database or a role that the migrations grant to does not exist. */
function isMissing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ["28000", "28P01", "3D000", "42704", "42501"].includes(error.code ?? "");
}

function howToMakeRoles(directUrl: string): string {
  const database = readUrl(directUrl).pathname.slice(1);
  return [
    "PostgreSQL rejected the owner's login, or the roles or the database do not exist. Let this command create them:",
    "",
    `  PENNYBLACK_ADMIN_DATABASE_URL=postgres://postgres:...@host/postgres npm run migrate`,
    "",
    "Or create them yourself, with the passwords from your settings, and try again:",
    "",
    ...Object.values(roles).map((role) => `  create role ${role} login noinherit password '...';`),
    `  ${grantAdminRoles};`,
    `  create database ${database};`,
    `  grant connect, create, temporary on database ${database} to ${roles.owner};`,
    `  grant connect on database ${database} to ${servingRoles.join(", ")};`,
  ].join("\n");
}
