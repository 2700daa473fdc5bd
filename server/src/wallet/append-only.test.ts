import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createBusyLedger } from "../../test/support/data/busy-ledger.ts";
import type { TestDatabase } from "../../test/support/services/database.ts";

let db: TestDatabase;

before(async () => {
  const ledger = await createBusyLedger();
  await ledger.spend(64);
  db = ledger.database;
  await db.owner.query(
    `select pb.sign_hour(max(hour), sha256('a'), 'a', array[sha256('a')]), pb.sign_day(pb.utc_day(max(hour)), sha256('a'), 'a')
     from pb.ledger_hours`,
  );
});

after(() => db.drop());

const restricted = { code: "23001" };

/** A change of a column that is not part of a key. */
const tables: Record<string, string> = {
  transfers: "amount_micros = amount_micros + 1",
  payments: "amount_micros = amount_micros + 1",
  refunds: "reason = reason || '!'",
  reversals: "amount_micros = amount_micros + 1",
  wallet_hours: "credited_micros = credited_micros + 1",
  ledger_hours: "entries = entries + 1",
  closed_days: "transfers = transfers + 1",
  hour_trees: "hashes = sha256('b')",
  ledger_days: "signed = 'b'",
  changes: "reason = 'b'",
};

test("ledger tables and their partitions reject UPDATE, DELETE and TRUNCATE, even from their owner", async () => {
  const { rows } = await db.owner.query<{ name: string }>(
    `select distinct tableoid::regclass::text as name from pb.transfers
     union select inhrelid::regclass::text from pg_inherits where inhparent = 'pb.transfers'::regclass`,
  );
  const filled = await db.owner.query<{ name: string }>(
    "select distinct tableoid::regclass::text as name from pb.transfers",
  );
  assert.ok(rows.length > 14 && filled.rows.length > 0);
  for (const { name } of rows) await assert.rejects(db.owner.query(`truncate ${name}`), restricted, name);
  for (const [name, change] of [
    ...Object.entries(tables).map(([table, each]) => [`pb.${table}`, each]),
    ...filled.rows.map((row) => [row.name, tables["transfers"]]),
  ])
    for (const sql of [`update ${name} set ${change}`, `delete from ${name}`, `truncate ${name} cascade`])
      await assert.rejects(db.owner.query(sql), restricted, sql);
});

test("every table that rejects TRUNCATE is tested", async () => {
  const { rows } = await db.owner.query<{ name: string }>(
    `select relname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where tgname like '%\\_no\\_truncate' and not relispartition`,
  );
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), Object.keys(tables).toSorted());
});

test("a reversal only moves forward", async () => {
  for (const [set, where] of [
    ["state = 'taken', returned_transfer_id = null", "state = 'returned'"],
    ["returned_transfer_id = pb.new_uuid()", "state = 'returned'"],
    ["taken_transfer_id = pb.new_uuid()", "taken_transfer_id is not null"],
    ["owed_transfer_id = pb.new_uuid()", "owed_transfer_id is not null"],
    ["taken_micros = taken_micros - 1, owed_micros = owed_micros + 1", "taken_micros > 1 and owed_micros > 0"],
    ["wallet_id = (select id from pb.wallets w where w.id <> reversals.wallet_id limit 1)", "true"],
  ]) {
    const { rowCount } = await db.owner.query(`select from pb.reversals where ${where}`);
    assert.ok(rowCount, where);
    await assert.rejects(db.owner.query(`update pb.reversals set ${set} where ${where}`), restricted, set);
  }
  const { rowCount } = await db.owner.query(
    "update pb.reversals set state = 'lost', changed_at = clock_timestamp() where kind = 'dispute' and state = 'taken'",
  );
  assert.equal(rowCount, 1);
  await assert.rejects(db.owner.query("update pb.reversals set state = 'taken' where state = 'lost'"), restricted);
});

test("the root and signature of a closed hour are filled in once", async () => {
  const hour = "hour = (select min(hour) from pb.ledger_hours)";
  await db.owner.query(`update pb.ledger_hours set root = sha256('a') where ${hour}`);
  await db.owner.query(`update pb.ledger_hours set signed = 'a' where ${hour}`);
  for (const set of ["root = sha256('b')", "root = null", "signed = 'b'", "signed = null"])
    await assert.rejects(db.owner.query(`update pb.ledger_hours set ${set} where ${hour}`), restricted, set);
});
