import { createHmac } from "node:crypto";
import pg from "pg";
import { migrate } from "../db/migrate.ts";
import { admitRoles, createRoles, type RolePasswords, roles, withRole } from "../db/roles.ts";
import { CannotStart } from "./cannot-start.ts";

export interface DatabaseUrls {
  owner: string;
  ledger: string;
  tenant: string;
  operator: string;
  people: string;
}

type RoleName = keyof typeof roles;
const roleNames = Object.keys(roles) as RoleName[];

/** Makes the database and the roles where they are missing and migrates. Nothing that is there already is changed. */
export async function prepareDatabase(adminUrl: string): Promise<DatabaseUrls> {
  const passwords = derivePasswords(adminUrl);
  const urls = Object.fromEntries(roleNames.map((name) => [name, withRole(adminUrl, name, passwords[name])]));
  const { owner = "", ledger = "", tenant = "", operator = "", people = "" } = urls;
  const client = await connectAsAdmin(adminUrl);
  try {
    await again(() => makeMissingRoles(client, passwords));
    await again(() => admitRoles(client, databaseOf(adminUrl)));
    for (const name of roleNames) await checkLogin(client, name, { url: urls[name] ?? "", password: passwords[name] });
  } finally {
    await client.end();
  }
  const complaints: string[] = [];
  await migrate(owner, (line) => complaints.push(line)).catch((error: unknown) => {
    throw new CannotStart(
      `The database cannot be migrated: ${error instanceof Error ? error.message : String(error)}\nUse an empty one: change the name in DATABASE_URL.`,
    );
  });
  return { owner, ledger, tenant, operator, people };
}

/**
 * The roles belong to the whole cluster, where another dev server may be running. So their passwords follow from the
 * admin's: each dev server on the cluster arrives at the same ones. Without an admin password the cluster trusts
 * whoever comes, and passwords would only break that.
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
    throw new CannotStart("This PostgreSQL is older than 15. Use a newer one, or unset DATABASE_URL.");
  const missing = roleNames.filter((name) => !existing.includes(roles[name]));
  await createRoles(client, Object.fromEntries(missing.map((name) => [name, passwords[name]])));
}

/** A role that is there with another password belongs to someone: it is left as it is. One without any can be given ours. */
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
    if (await canConnect(login.url)) return;
  }
  throw new CannotStart(
    login.password
      ? `The role ${roles[name]} is there already and has another password, so another Pennyblack uses this PostgreSQL. Use another PostgreSQL, or unset DATABASE_URL and one is started for you.`
      : `PostgreSQL does not let ${roles[name]} in without a password. Write the admin's password into DATABASE_URL: postgres://user:password@host/database`,
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

/** Another dev server that starts at the same moment makes the same roles: then one of the two comes second. */
async function again(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 5 || !["42710", "23505", "XX000"].includes(codeOf(error))) throw error;
    }
  }
}

function databaseOf(url: string): string {
  const name = decodeURIComponent(new URL(url).pathname.slice(1));
  if (!name) throw new CannotStart("DATABASE_URL names no database. Write postgres://user@host/pennyblack");
  return name;
}

function cannotConnect(error: unknown): CannotStart {
  const message = error instanceof Error ? error.message || codeOf(error) : String(error);
  return new CannotStart(
    `PostgreSQL cannot be reached: ${message}. Check DATABASE_URL, or unset it and a PostgreSQL is started for you.`,
  );
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
