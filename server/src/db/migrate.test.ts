import assert from "node:assert/strict";
import { randomBytes, randomUUIDv7 } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { until } from "../../test/support/assertions/until.ts";
import { seedWallet } from "../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../test/support/services/database.ts";
import { holdBatch } from "../wallet/statements.ts";
import { findSchemaFault } from "./find-schema-fault.ts";
import { MigrationRefused, migrate } from "./migrate.ts";
import { grantDatabase, withRole } from "./roles.ts";
import { readSchemaFiles, serverFolder } from "./schema-files.ts";

const database = await createTestDatabase();
const { version, migrations } = readSchemaFiles();
const folders: string[] = [];

after(async () => {
  await database.drop();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const silent = (): void => undefined;

/** The schema of another release: this one's files, some of them changed. */
function release(otherVersion: number, changes: Record<string, (text: string) => string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-schema-"));
  folders.push(folder);
  for (const name of ["migrations", "sql"]) cpSync(join(serverFolder, name), join(folder, name), { recursive: true });
  for (const [file, change] of Object.entries(changes)) {
    const isNew = file.startsWith("migrations/9000");
    writeFileSync(join(folder, file), change(isNew ? "" : readFileSync(join(folder, file), "utf8")));
  }
  writeFileSync(join(folder, "sql/VERSION"), `${otherVersion} ${"0".repeat(64)}\n`);
  return folder;
}

async function emptyDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const name = `pb_test_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client({ connectionString: database.superuserUrl });
  await client.connect();
  try {
    await client.query(`create database ${name} owner pennyblack_owner`);
    await grantDatabase(client, name);
    await work(withRole(Object.assign(new URL(database.superuserUrl), { pathname: `/${name}` }).href, "owner"));
  } finally {
    // Without FORCE: PostgreSQL waits for the runners' connections to close.
    await client.query(`drop database if exists ${name}`);
    await client.end();
  }
}

/** A connection as the owner that holds a lock until it is released. */
async function holdLock(url: string, statement: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin");
  await client.query(statement);
  return async () => {
    await client.query("commit");
    await client.end();
  };
}

test("migrating a second time changes nothing", async () => {
  assert.deepEqual(await migrate(database.ownerUrl, silent), { migrations: [], version: undefined });
  const { rows } = await database.ledger.query("select version from pb.read_schema_version()");
  assert.deepEqual(rows, [{ version }]);
});

test("two runners on an empty database apply everything once", () =>
  emptyDatabase(async (url) => {
    const applied = await Promise.all([migrate(url, silent), migrate(url, silent)]);
    assert.deepEqual(
      applied.flatMap((each) => each.migrations),
      migrations.map(({ name }) => name),
    );
    assert.deepEqual(new Set(applied.map((each) => each.version)), new Set([version, undefined]));
  }));

test("a migration that waits for a lock does not stop searches, and is applied when the lock is free", async () => {
  const own = await createTestDatabase();
  const { walletId, keyId } = await seedWallet(own.owner, { credit: 1_000_000n });
  const next = release(version + 1, {
    "migrations/9000_next.sql": () => "-- A test.\nalter table pb.keys add column next integer;\n",
  });
  const unlock = await holdLock(own.ownerUrl, "select count(*) from pb.keys");
  const lines: string[] = [];
  const migrating = migrate(own.ownerUrl, (line) => lines.push(line), { folder: next });
  let held = 0;
  try {
    await until("the migration has waited", async () => {
      const [hold] = await holdBatch(own.ledger, [{ searchId: randomUUIDv7(), walletId, keyId }]);
      if (hold?.outcome === "held") held += 1;
      return lines.length > 0;
    });
  } finally {
    await unlock();
  }
  assert.ok(held > 0);
  assert.deepEqual(await migrating, { migrations: ["9000_next"], version: version + 1 });
  await own.drop();
});

test("changed functions are replaced without a table lock, changed triggers and policies with one", async () => {
  const own = await createTestDatabase();
  const unlock = await holdLock(own.ownerUrl, "lock table pb.keys in share update exclusive mode");
  const functions = release(version + 1, {
    "sql/keys.sql": (text) => text.replace("interval '15 seconds'", "interval '16 seconds'"),
  });
  assert.equal((await migrate(own.ownerUrl, silent, { folder: functions })).version, version + 1);
  await unlock();
  const replaced = await own.owner.query(
    "select pg_get_functiondef(oid) ~ '00:00:16' as replaced from pg_proc where proname = 'changed_keys'",
  );
  assert.deepEqual(replaced.rows, [{ replaced: true }]);
  const others = release(version + 2, {
    "sql/policies.sql": (text) =>
      text.replace("every_key on pb.keys for select to pennyblack_operator using (true)", (found) =>
        found.replace("true", "false"),
      ),
    "sql/triggers.sql": (text) => text.replace(/create or replace trigger emit_new_key_event[^;]*;\n\n/, ""),
  });
  assert.equal((await migrate(own.ownerUrl, silent, { folder: others })).version, version + 2);
  const { rows } = await own.owner.query(
    `select (select qual from pg_policies where policyname = 'every_key') as qual,
       exists (select from pg_trigger where tgname = 'emit_new_key_event') as has_trigger`,
  );
  assert.deepEqual(rows, [{ qual: "false", has_trigger: false }]);
  await own.drop();
});

test("a trigger is removed together with its table", async () => {
  const own = await createTestDatabase();
  // As the previous release recorded it. A migration of the next one has dropped the table.
  await own.owner.query("insert into pb.schema_objects (name, checksum) values ('trigger former on pb.former', '')");
  assert.equal((await migrate(own.ownerUrl, silent, { folder: release(version + 1) })).version, version + 1);
  const { rows } = await own.owner.query("select from pb.schema_objects where name = 'trigger former on pb.former'");
  assert.equal(rows.length, 0);
  await own.drop();
});

test("a function with a new signature has its grants from the moment it exists", async () => {
  const own = await createTestDatabase();
  const { walletId, keyId } = await seedWallet(own.owner, { credit: 1_000_000n });
  const changed = release(version + 1, { "sql/hold.sql": addArgument });
  await migrate(own.ownerUrl, silent, { folder: changed });
  const [hold] = await holdBatch(own.ledger, [{ searchId: randomUUIDv7(), walletId, keyId }]);
  assert.equal(hold?.outcome, "held");
  await own.drop();
});

/** Works with any arguments of pb.hold. */
function addArgument(text: string): string {
  const drop =
    "do $drop$ begin execute format('drop function %s', 'pb.hold'::regproc::oid::regprocedure); end $drop$;\n";
  const changed = text.replace(
    /(create or replace function pb\.hold\([^)]*)\n\)/,
    (_, definition: string) => `${drop}${definition},\n  region text default null\n)`,
  );
  assert.notEqual(changed, text);
  return changed;
}

test("an older release refuses to migrate, and changes nothing", async () => {
  const own = await createTestDatabase();
  await own.owner.query("update pb.schema_version set version = version + 1");
  await own.owner.query("update pb.schema_objects set checksum = 'of the newer release'");
  // Not even --reset deletes the data of a newer release.
  await assert.rejects(migrate(own.ownerUrl, silent, { reset: true }), (error) => {
    assert.ok(error instanceof MigrationRefused);
    assert.match(error.message, new RegExp(`has schema version ${version + 1}; this release has version ${version}`));
    return true;
  });
  const { rows } = await own.owner.query("select distinct checksum from pb.schema_objects");
  assert.deepEqual(rows, [{ checksum: "of the newer release" }]);
  await own.drop();
});

test("a database with another migration is refused, unless --reset deletes its data", async () => {
  const others = {
    "an unknown migration": "insert into pb.migrations (name, run_on) values ('0002_more', now())",
    "an edited baseline": "update pb.schema_objects set checksum = 'other' where name = 'migrations/0001_baseline'",
    "a baseline without a checksum": "delete from pb.schema_objects where name = 'migrations/0001_baseline'",
  };
  for (const [description, change] of Object.entries(others)) {
    const own = await createTestDatabase();
    await seedWallet(own.owner, { credit: 1_000_000n });
    const countKeys = async (): Promise<unknown> =>
      (await own.owner.query("select count(*)::integer as keys from pb.keys")).rows[0];
    await migrate(own.ownerUrl, silent, { reset: true });
    assert.deepEqual(await countKeys(), { keys: 1 }, "a database of this version is not reset");
    await own.owner.query(change);
    await assert.rejects(migrate(own.ownerUrl, silent), /other migrations.*Nothing was changed.*--reset/, description);
    assert.deepEqual(await countKeys(), { keys: 1 });
    const { migrations: applied } = await migrate(own.ownerUrl, silent, { reset: true });
    assert.deepEqual([applied, await countKeys()], [["0001_baseline"], { keys: 0 }], description);
    await own.drop();
  }
});

test("a server starts on a newer schema that still serves it, and keeps running on one that does not", async () => {
  const own = await createTestDatabase();
  await migrate(own.ownerUrl, silent, { folder: release(version + 1) });
  assert.equal(await findSchemaFault(own.ledger, "starting"), undefined);
  const since = (text: string): string => text.replace(/return \d+;/, `return ${version + 2};`);
  await migrate(own.ownerUrl, silent, { folder: release(version + 2, { "sql/version.sql": since }) });
  assert.match(
    (await findSchemaFault(own.ledger, "starting")) ?? "",
    new RegExp(`schema version ${version + 2}, which no longer serves releases before version ${version + 2}`),
  );
  assert.equal(await findSchemaFault(own.ledger, "running"), undefined);
  await own.drop();
});
