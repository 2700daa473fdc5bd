import pg from "pg";
import { readConfig } from "../config.ts";
import { findPrimary } from "../db/find-primary.ts";
import { migrate } from "../db/migrate.ts";
import { createRoles, grantDatabase, roles, servingRoles } from "../db/roles.ts";
import { spreadHosts } from "../lib/spread-hosts.ts";
import { type Command, type CommandContext, CommandFailed } from "./command.ts";

export const databaseCommands: Record<string, Command> = {
  roles: {
    usage: "",
    summary: "Make the roles and the database, and leave it empty: for a dump to be restored into.",
    options: {},
    run: makeRoles,
  },
  setup: {
    usage: "",
    summary: "Make the roles, if PENNYBLACK_ADMIN_DATABASE_URL is set, and bring the tables up to date.",
    options: {},
    run: setUp,
  },
};

async function makeRoles({ print }: CommandContext): Promise<void> {
  const { adminDatabaseUrl } = readConfig(["adminDatabaseUrl"]);
  if (!adminDatabaseUrl) throw new CommandFailed("Set PENNYBLACK_ADMIN_DATABASE_URL to the address of a superuser.");
  await prepareCluster(adminDatabaseUrl, print);
}

async function setUp({ print }: CommandContext): Promise<void> {
  const { adminDatabaseUrl, directDatabaseUrl } = readConfig(["adminDatabaseUrl", "directDatabaseUrl"]);
  if (adminDatabaseUrl) await prepareCluster(adminDatabaseUrl, print);
  const applied = await migrate(directDatabaseUrl, print).catch((error: unknown) => {
    if (adminDatabaseUrl || !isMissing(error)) throw error;
    throw new CommandFailed(howToMakeRoles(directDatabaseUrl), { cause: error });
  });
  print(applied.length > 0 ? `Applied ${applied.join(", ")}.` : "The database is up to date.");
}

async function prepareCluster(adminUrl: string, print: (text: string) => void): Promise<void> {
  const urls = readConfig([
    "ledgerDatabaseUrl",
    "tenantDatabaseUrl",
    "operatorDatabaseUrl",
    "peopleDatabaseUrl",
    "directDatabaseUrl",
  ]);
  const passwords = {
    ledger: readPassword("DATABASE_URL", urls.ledgerDatabaseUrl, "ledger"),
    tenant: readPassword("PENNYBLACK_TENANT_DATABASE_URL", urls.tenantDatabaseUrl, "tenant"),
    ...(urls.operatorDatabaseUrl && {
      operator: readPassword("PENNYBLACK_OPERATOR_DATABASE_URL", urls.operatorDatabaseUrl, "operator"),
    }),
    ...(urls.peopleDatabaseUrl && {
      people: readPassword("PENNYBLACK_PEOPLE_DATABASE_URL", urls.peopleDatabaseUrl, "people"),
    }),
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
  print(`The roles ${Object.values(roles).join(", ")} may use the database ${database}.`);
}

/** The migrations grant to these roles by name, so the settings must name them too. */
function readPassword(variable: string, url: string, role: keyof typeof roles): string {
  const { username, password } = readUrl(url);
  if (username !== roles[role])
    throw new CommandFailed(`${variable} must connect as ${roles[role]}. Change it and run this again.`);
  return decodeURIComponent(password);
}

/** Its hosts aside, all of which have the same. */
function readUrl(url: string): URL {
  return new URL(spreadHosts(url)[0] ?? url);
}

/** No such role, no such database, or a role that the migrations grant to. */
function isMissing(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ["28000", "28P01", "3D000", "42704", "42501"].includes(error.code ?? "");
}

function howToMakeRoles(directUrl: string): string {
  const database = readUrl(directUrl).pathname.slice(1);
  return [
    "PostgreSQL does not let the owner in, or the roles or the database are missing. Let this command make them:",
    "",
    `  PENNYBLACK_ADMIN_DATABASE_URL=postgres://postgres:...@host/postgres npm run migrate`,
    "",
    "or make them yourself, with the passwords that the settings have, and run it again:",
    "",
    ...Object.values(roles).map((role) => `  create role ${role} login noinherit password '...';`),
    `  create database ${database};`,
    `  grant connect, create, temporary on database ${database} to ${roles.owner};`,
    `  grant connect on database ${database} to ${servingRoles.join(", ")};`,
  ].join("\n");
}
