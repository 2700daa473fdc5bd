import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { roles } from "../../src/db/roles.ts";
import { prepareDatabase } from "../../src/dev/prepare-database.ts";
import { type Postgres, startPostgres } from "../../src/dev/start-postgres.ts";
import { runSql } from "./run-sql.ts";

// A separate cluster with password authentication, because these tests change the passwords of its roles.

let cluster: Postgres;

before(async () => {
  cluster = await startPostgres();
});

after(() => cluster.stop());

function urlOf(database: string): string {
  return Object.assign(new URL(cluster.url), { pathname: `/${database}` }).href;
}

test("dev servers that prepare a new cluster at the same time all succeed", async () => {
  const names = ["first", ...Array.from({ length: 7 }, (_, index) => `other${index}`)];
  const all = await Promise.all(names.map((name) => prepareDatabase(urlOf(name))));
  for (const { owner, ledger, tenant } of all) {
    for (const url of [owner, ledger, tenant]) assert.equal((await runSql(url, "select 1")).length, 1);
    assert.ok(Number((await runSql(ledger, "select version from pb.read_schema_version()"))[0]?.["version"]) > 0);
  }
});

test("a later start changes no password, so that earlier servers keep working", async () => {
  const passwords = "select rolname, rolpassword from pg_authid where rolname like 'pennyblack_%' order by 1";
  await prepareDatabase(urlOf("first"));
  const before = await runSql(urlOf("first"), passwords);
  assert.equal(before.filter((role) => role["rolpassword"]).length, Object.keys(roles).length);
  await prepareDatabase(urlOf("third"));
  assert.deepEqual(await runSql(urlOf("first"), passwords), before);
});

test("other roles can still connect to a shared database", async () => {
  await runSql(urlOf("postgres"), "create role visitor login password 'visitor'");
  await prepareDatabase(urlOf("postgres"));
  const visitor = Object.assign(new URL(urlOf("postgres")), { username: "visitor", password: "visitor" });
  assert.equal((await runSql(visitor.href, "select 1")).length, 1);
});

test("a role without a password is given one", async () => {
  await prepareDatabase(urlOf("first"));
  await runSql(urlOf("first"), "alter role pennyblack_tenant password null");
  const { tenant } = await prepareDatabase(urlOf("first"));
  assert.equal((await runSql(tenant, "select 1")).length, 1);
});

test("a role with a different password is not changed, and the error names it", async () => {
  await prepareDatabase(urlOf("first"));
  await runSql(urlOf("first"), "alter role pennyblack_ledger password 'production'");
  await assert.rejects(prepareDatabase(urlOf("first")), /pennyblack_ledger already exists with a different password/);
  const theirs = Object.assign(new URL(urlOf("first")), { username: "pennyblack_ledger", password: "production" });
  assert.equal((await runSql(theirs.href, "select 1")).length, 1);
});

test("a wrong password or a missing database name is explained in one sentence", async () => {
  const wrong = Object.assign(new URL(urlOf("first")), { password: "wrong" });
  await assert.rejects(prepareDatabase(wrong.href), /Cannot connect to PostgreSQL: password authentication failed/);
  await assert.rejects(prepareDatabase(urlOf("")), /DATABASE_URL has no database name/);
});
