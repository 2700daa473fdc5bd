import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { seedWallet } from "../../test/seed-wallet.ts";
import { until } from "../../test/until.ts";
import { holdBatch } from "../wallet/statements.ts";
import { expectedMigrations, findMigrationFault, migrate } from "./migrate.ts";
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

/** The migrations of a version after this one. */
function nextVersion(sql: string): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-migrations-"));
  cpSync(new URL("../../migrations/", import.meta.url).pathname, folder, { recursive: true });
  writeFileSync(join(folder, "9000_of_the_next_version.sql"), `-- Why: a test.\n${sql}\n`);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

test("a migration that has to wait for a lock gives way to searches, and is applied when its time comes", async () => {
  const own = await createTestDatabase();
  const { walletId, keyId } = await seedWallet(own.owner, { credit: 1_000_000n });
  const { folder, remove } = nextVersion("alter table pb.keys add column of_the_next_version integer;");
  // Somebody's report: it reads the keys and does not end.
  const reader = new pg.Client({ connectionString: own.ownerUrl });
  await reader.connect();
  await reader.query("begin");
  await reader.query("select count(*) from pb.keys");
  const told: string[] = [];
  const migrating = migrate(own.ownerUrl, (line) => told.push(line), folder);
  let held = 0;
  try {
    await until("it has given way", async () => {
      const [hold] = await holdBatch(own.ledger, [{ searchId: randomUUIDv7(), walletId, keyId }]);
      if (hold?.outcome === "held") held += 1;
      return told.length > 0;
    });
  } finally {
    await reader.query("commit");
    await reader.end();
  }
  assert.ok(held > 0);
  assert.deepEqual(await migrating, ["9000_of_the_next_version"]);
  remove();
  await own.drop();
});

test("a server starts on a newer schema where that schema says that it may, and goes on where it may not", async () => {
  const own = await createTestDatabase();
  const { folder, remove } = nextVersion("select 1;");
  await migrate(own.ownerUrl, silent, folder);
  assert.equal(await findMigrationFault(own.ledger, "starting"), undefined);
  await own.owner.query(
    "create or replace function pb.serves_since() returns text language sql return '9000_of_the_next_version'",
  );
  assert.match(
    (await findMigrationFault(own.ledger, "starting")) ?? "",
    /9000_of_the_next_version. Start a newer version/,
  );
  assert.equal(await findMigrationFault(own.ledger, "running"), undefined);
  remove();
  await own.drop();
});
