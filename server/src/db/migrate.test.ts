import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { expectedMigrations, migrate } from "./migrate.ts";
import { grantDatabase, withRole } from "./roles.ts";

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});

after(() => database.drop());

const silent = (): void => undefined;

test("to migrate a second time changes nothing", async () => {
  assert.deepEqual(await migrate(database.ownerUrl, silent), []);
  const { rows } = await database.ledger.query<{ name: string }>("select pb.applied_migrations() as name");
  assert.deepEqual(
    rows.map((row) => row.name),
    expectedMigrations(),
  );
});

test("two servers that migrate an empty database at once do it once", async () => {
  const name = `pb_test_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    await client.query(`create database ${name} owner pennyblack_owner`);
    await grantDatabase(client, name);
    const at = new URL(database.superuserUrl);
    at.pathname = `/${name}`;
    const url = withRole(at.href, "owner");
    const applied = await Promise.all([migrate(url, silent), migrate(url, silent)]);
    assert.deepEqual(applied.flat(), expectedMigrations());
  } finally {
    // Not by force: the runners are still hanging up, and PostgreSQL waits for that.
    await client.query(`drop database if exists ${name}`);
    await client.end();
  }
});
