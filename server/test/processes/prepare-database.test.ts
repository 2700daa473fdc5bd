import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { prepareDatabase } from "../../src/dev/prepare-database.ts";
import { type Postgres, startPostgres } from "../../src/dev/start-postgres.ts";

// A cluster of its own, because these tests change the passwords of its roles. It asks for them, unlike the others.

let cluster: Postgres;

before(async () => {
  cluster = await startPostgres();
});

after(() => cluster.stop());

function urlOf(database: string): string {
  return Object.assign(new URL(cluster.url), { pathname: `/${database}` }).href;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test("two dev servers that start on a new cluster at the same moment both find what they need", async () => {
  const both = await Promise.all([prepareDatabase(urlOf("first")), prepareDatabase(urlOf("second"))]);
  for (const { owner, ledger, tenant } of both) {
    for (const url of [owner, ledger, tenant]) assert.equal((await ask(url, "select 1")).length, 1);
    assert.ok(Number((await ask(ledger, "select version from pb.read_schema_version()"))[0]?.["version"]) > 0);
  }
});

test("a later start changes no password, so that earlier ones go on working", async () => {
  const passwords = "select rolname, rolpassword from pg_authid where rolname like 'pennyblack_%' order by 1";
  await prepareDatabase(urlOf("first"));
  const before = await ask(urlOf("first"), passwords);
  assert.equal(before.filter((role) => role["rolpassword"]).length, 5);
  await prepareDatabase(urlOf("third"));
  assert.deepEqual(await ask(urlOf("first"), passwords), before);
});

test("a database that others use too stays open to them", async () => {
  await ask(urlOf("postgres"), "create role visitor login password 'visitor'");
  await prepareDatabase(urlOf("postgres"));
  const visitor = Object.assign(new URL(urlOf("postgres")), { username: "visitor", password: "visitor" });
  assert.equal((await ask(visitor.href, "select 1")).length, 1);
});

test("a role without a password is given one", async () => {
  await prepareDatabase(urlOf("first"));
  await ask(urlOf("first"), "alter role pennyblack_tenant password null");
  const { tenant } = await prepareDatabase(urlOf("first"));
  assert.equal((await ask(tenant, "select 1")).length, 1);
});

test("a role with a password of someone else's is left alone, and that is said", async () => {
  await prepareDatabase(urlOf("first"));
  await ask(urlOf("first"), "alter role pennyblack_ledger password 'production'");
  await assert.rejects(prepareDatabase(urlOf("first")), /pennyblack_ledger already exists with a different password/);
  const theirs = Object.assign(new URL(urlOf("first")), { username: "pennyblack_ledger", password: "production" });
  assert.equal((await ask(theirs.href, "select 1")).length, 1);
});

test("a wrong password or a missing name of a database is one sentence", async () => {
  const wrong = Object.assign(new URL(urlOf("first")), { password: "wrong" });
  await assert.rejects(prepareDatabase(wrong.href), /Cannot connect to PostgreSQL: password authentication failed/);
  await assert.rejects(prepareDatabase(urlOf("")), /DATABASE_URL has no database name/);
});
