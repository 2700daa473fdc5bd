import { createHmac } from "node:crypto";
import pg from "pg";
import { MigrationRefused, migrate } from "../db/migrate.ts";
import { admitRoles, createRoles, type RolePasswords, roles, withRole } from "../db/roles.ts";
import { StartupError } from "./startup-error.ts";

type RoleName = keyof typeof roles;
export type DatabaseUrls = Record<RoleName, string>;

const roleNames = Object.keys(roles) as RoleName[];

/** Creates the database and roles if they are missing, and migrates. Existing roles are not changed. `reset`: see migrate.ts. */
export async function prepareDatabase(adminUrl: string, reset = false): Promise<DatabaseUrls> {
  const passwords = derivePasswords(adminUrl);
  const urls = Object.fromEntries(
    roleNames.map((name) => [name, withRole(adminUrl, name, passwords[name])]),
  ) as DatabaseUrls;
  const client = await connectAsAdmin(adminUrl);
  try {
    await retry(() => makeMissingRoles(client, passwords));
    await retry(() => admitRoles(client, databaseOf(adminUrl)));
    for (const name of roleNames) {
      await retry(() => checkLogin(client, name, { url: urls[name], password: passwords[name] }));
    }
  } finally {
    await client.end();
  }
  await migrate(urls.owner, () => undefined, { reset }).catch((error: unknown) => {
    if (error instanceof MigrationRefused) throw new StartupError(error.message);
    throw new StartupError(
      `Migration failed: ${error instanceof Error ? error.message : String(error)}\nTo use an empty database, change the name in DATABASE_URL.`,
    );
  });
  return urls;
}

/**
 * Roles belong to the whole cluster, which several dev servers may share, so their passwords are derived from the admin's
 * password and are the same for all of them. Without an admin password the cluster uses trust authentication, and the
 * roles get no passwords either.
 */
function derivePasswords(adminUrl: string): RolePasswords {
  const { password } = new URL(adminUrl);
  if (!password) return {};
  const derive = (name: string): string =>
    createHmac("sha256", decodeURIComponent(password)).update(`pennyblack dev ${name}`).digest("base64url");
  return Object.fromEntries(roleNames.map((name) => [name, derive(name)]));
}

async function connectAsAdmin(adminUrl: string): Promise<pg.Client> {
  try {
    return await connect(adminUrl);
  } catch (error) {
    if (codeOf(error) !== "3D000") throw cannotConnect(error);
    const maintenance = new URL(adminUrl);
    maintenance.pathname = "/postgres";
    const client = await connect(maintenance.href);
    await client.query(`create database ${pg.escapeIdentifier(databaseOf(adminUrl))}`);
    await client.end();
    return connect(adminUrl);
  }
}

async function makeMissingRoles(client: pg.Client, passwords: RolePasswords): Promise<void> {
  const { rows } = await client.query<{ version: number; existing: string[] }>(
    `select current_setting('server_version_num')::integer as version,
       array(select rolname::text from pg_roles where rolname = any ($1)) as existing`,
    [Object.values(roles)],
  );
  const { version = 0, existing = [] } = rows[0] ?? {};
  if (version < 150_000)
    throw new StartupError("PostgreSQL 15 or later is required. Use a newer server, or unset DATABASE_URL.");
  const missing = roleNames.filter((name) => !existing.includes(roles[name]));
  await createRoles(client, Object.fromEntries(missing.map((name) => [name, passwords[name]])));
}

/** A role with a different password belongs to another installation and is not changed. One without a password gets ours. */
async function checkLogin(
  admin: pg.Client,
  name: RoleName,
  login: { url: string; password?: string | undefined },
): Promise<void> {
  if (await canConnect(login.url)) return;
  const { rows } = await admin.query<{ unset: boolean }>(
    "select rolpassword is null as unset from pg_authid where rolname = $1",
    [roles[name]],
  );
  if (rows[0]?.unset && login.password) {
    await admin.query(`alter role ${roles[name]} password ${pg.escapeLiteral(login.password)}`);
  }
  // Even if another dev server has set the password meanwhile.
  if (await canConnect(login.url)) return;
  throw new StartupError(
    login.password
      ? `The role ${roles[name]} already exists with a different password: another Pennyblack uses this PostgreSQL server. Use another server, or unset DATABASE_URL to start one automatically.`
      : `PostgreSQL requires a password for ${roles[name]}. Add the admin's password to DATABASE_URL: postgres://user:password@host/database`,
  );
}

async function canConnect(url: string): Promise<boolean> {
  try {
    await (await connect(url)).end();
    return true;
  } catch (error) {
    if (codeOf(error).startsWith("28")) return false;
    throw cannotConnect(error);
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  return client;
}

/** Retries when other dev servers change the same roles. With each conflict, one of them has completed a statement. */
async function retry(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 200 || !["42710", "23505", "XX000"].includes(codeOf(error))) throw error;
    }
  }
}

function databaseOf(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  if (!name) throw new StartupError("DATABASE_URL has no database name. Use postgres://user@host/pennyblack");
  return name;
}

function cannotConnect(error: unknown): StartupError {
  const message = error instanceof Error ? error.message || codeOf(error) : String(error);
  return new StartupError(
    `Cannot connect to PostgreSQL: ${message}. Check DATABASE_URL, or unset it to start PostgreSQL automatically.`,
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
