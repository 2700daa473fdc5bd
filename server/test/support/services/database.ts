import { randomBytes } from "node:crypto";
import pg from "pg";
import { createPool, type Pool } from "../../../src/db/pool.ts";
import { createRoles, grantDatabase, withRole } from "../../../src/db/roles.ts";
import { checksumOfSchema } from "../../../src/db/schema-files.ts";
import { timeFactor } from "../assertions/until.ts";

const roles = ["owner", "ledger", "tenant", "payments", "operator", "people", "worker"] as const;
type Role = (typeof roles)[number];

/**
 * A pool and a URL for each role. The owner of the tables can do what servers cannot, such as moving a hold's expiry into
 * the past; the others are the server's roles.
 */
export interface TestDatabase extends Record<Role, Pool>, Record<`${Role}Url`, string> {
  name: string;
  /** For objects of the whole cluster, such as roles. */
  superuserUrl: string;
  drop(): Promise<void>;
}

export const superuserUrl =
  process.env["PENNYBLACK_TEST_DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres";

/**
 * Prefix of template names. Creating a template drops the others with the same prefix, so `npm run planted-faults`, whose
 * schema differs, sets its own.
 */
const templatePrefix = process.env["PENNYBLACK_TEST_TEMPLATE_PREFIX"] ?? "pb_template";

/** A new database for one test file, cloned from a migrated template, in the shared cluster or another one. */
export async function createTestDatabase(clusterUrl = superuserUrl): Promise<TestDatabase> {
  const name = `pb_test_${randomBytes(6).toString("hex")}`;
  await asSuperuser(clusterUrl, async (client) => {
    const template = await ensureTemplate(client, clusterUrl);
    await client.query(`create database ${name} template ${template} owner pennyblack_owner strategy file_copy`);
    await grantDatabase(client, name);
  });
  const at = new URL(clusterUrl);
  at.pathname = `/${name}`;
  const urls = roles.map((role) => withRole(at.href, role));
  const settings = { name: "test", connections: 8, statementTimeoutMs: timeFactor * 5_000, onIdleError: () => {} };
  const pools = urls.map((url) => createPool({ url, ...settings }));
  return {
    name,
    superuserUrl: at.href,
    ...(Object.fromEntries(roles.map((role, index) => [`${role}Url`, urls[index]])) as Record<`${Role}Url`, string>),
    ...(Object.fromEntries(roles.map((role, index) => [role, pools[index]])) as Record<Role, Pool>),
    async drop() {
      await Promise.all(pools.map((pool) => pool.end()));
      await asSuperuser(clusterUrl, (client) => client.query(`drop database ${name} with (force)`));
    },
  };
}

/** One template per schema and day, because it contains that day's partitions. Older ones are dropped. */
async function ensureTemplate(client: pg.Client, clusterUrl: string): Promise<string> {
  const day = new Date().toISOString().slice(0, 10).replaceAll("-", "");
  const template = `${templatePrefix}_${day}_${checksumOfSchema().slice(0, 12)}`;
  await client.query("select pg_advisory_lock(hashtext('pb_template'))");
  try {
    const templates = await listTemplates(client, templatePrefix);
    if (templates.includes(template)) return template;
    for (const old of templates) await client.query(`drop database if exists ${old} with (force)`);
    await createRoles(client, {});
    // Built under another name and renamed when complete, so that an interrupted run leaves no partial template.
    await client.query(`drop database if exists ${template}_building with (force)`);
    await client.query(`create database ${template}_building owner pennyblack_owner`);
    await grantDatabase(client, `${template}_building`);
    const at = new URL(clusterUrl);
    at.pathname = `/${template}_building`;
    // Only one file of a run builds the template.
    const { migrate } = await import("../../../src/db/migrate.ts");
    await migrate(withRole(at.href, "owner"), console.error);
    await client.query(`alter database ${template}_building rename to ${template}`);
    return template;
  } finally {
    await client.query("select pg_advisory_unlock(hashtext('pb_template'))");
  }
}

async function listTemplates(client: pg.Client, prefix: string): Promise<string[]> {
  const { rows } = await client.query<{ datname: string }>(
    "select datname from pg_database where starts_with(datname, $1)",
    [`${prefix}_`],
  );
  return rows.map(({ datname }) => datname);
}

/** Drops the templates with a prefix that is no longer used. */
export async function dropTemplates(prefix: string): Promise<void> {
  await asSuperuser(superuserUrl, async (client) => {
    for (const name of await listTemplates(client, prefix)) {
      await client.query(`drop database if exists ${name} with (force)`);
    }
  });
}

async function asSuperuser<Result>(clusterUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: clusterUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
