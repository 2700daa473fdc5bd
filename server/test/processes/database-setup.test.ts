import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { readSchemaFiles } from "../../src/db/schema-files.ts";
import { runAdmin } from "../support/services/admin-process.ts";
import { createTestDatabase, superuserUrl, type TestDatabase } from "../support/services/database.ts";
import { runSql } from "./run-sql.ts";

// Roles are shared by all databases of a cluster, so these tests do not set passwords.

let db: TestDatabase;
const name = `pb_test_${randomBytes(6).toString("hex")}`;
const superuser = new URL(superuserUrl);

before(async () => {
  db = await createTestDatabase();
});

after(async () => {
  await runSql(superuser.href, `drop database if exists ${name} with (force)`);
  await db.drop();
});

function urlsOf(database: string): Record<string, string> {
  const change = (url: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href;
  return {
    DATABASE_URL: change(db.ledgerUrl),
    PENNYBLACK_TENANT_DATABASE_URL: change(db.tenantUrl),
    PENNYBLACK_WORKER_DATABASE_URL: change(db.workerUrl),
    PENNYBLACK_DIRECT_DATABASE_URL: change(db.ownerUrl),
  };
}

test("without an admin URL, a missing database is explained", async () => {
  const { exitCode, stderr } = await runAdmin(urlsOf(name), "database", "setup");
  assert.equal(exitCode, 1);
  assert.match(stderr, /PENNYBLACK_ADMIN_DATABASE_URL=postgres/);
  assert.match(stderr, new RegExp(`create database ${name};`));
});

test("with an admin URL, the database is created and migrated; a second run changes nothing", async () => {
  const settings = { ...urlsOf(name), PENNYBLACK_ADMIN_DATABASE_URL: superuser.href };
  const first = await runAdmin(settings, "database", "setup");
  assert.equal(first.exitCode, 0, first.stderr);
  const { migrations, version } = readSchemaFiles();
  assert.ok(
    first.stdout.includes(
      `Applied ${[...migrations.map(({ name }) => name), `schema version ${version}`].join(", ")}.`,
    ),
    first.stdout,
  );
  const second = await runAdmin(urlsOf(name), "database", "setup");
  assert.deepEqual([second.exitCode, second.stdout], [0, "The database is up to date.\n"]);
});

test("a URL with a different role is rejected before anything changes", async () => {
  const settings = { ...urlsOf(name), DATABASE_URL: superuser.href, PENNYBLACK_ADMIN_DATABASE_URL: superuser.href };
  const { exitCode, stderr } = await runAdmin(settings, "database", "setup");
  assert.equal(exitCode, 1);
  assert.match(stderr, /DATABASE_URL must connect as pennyblack_ledger/);
});
