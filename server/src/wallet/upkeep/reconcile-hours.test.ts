import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { closeDueHours, passWatermarks, waitMs } from "../../../test/support/data/close-due-hours.ts";
import { seedOldDay } from "../../../test/support/data/seed-old-day.ts";
import { seedKey, seedKeyLimits, seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { withoutTriggers } from "../../../test/support/data/without-triggers.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { captureBatch, holdBatch } from "../statements.ts";
import { closeHours } from "./close-hours.ts";
import { formatReport } from "./reconcile.ts";
import { reconcileHours } from "./reconcile-hours.ts";

const hourMs = 3_600_000;
let db: TestDatabase;
/** Its entries are in a closed hour. */
let walletId: string;

before(async () => {
  db = await createTestDatabase();
  ({ walletId } = await seedOldDay(db.owner, 2));
  await passWatermarks(db.owner);
  await closeDueHours(db.owner);
  assert.deepEqual(await findDifferences(), []);
});

after(() => db.drop());

async function findDifferences(now?: Date): Promise<string[]> {
  const report = await reconcileHours(db.owner, { now, waitMs });
  assert.ok(report, "no other run is active");
  return report.checks.filter(({ differing }) => differing > 0).map(({ name }) => name);
}

test("a deleted charge of a closed hour is found, even if its search is deleted and the balance is adjusted", async () => {
  const charge = `(select id from pb.transfers where kind = 'capture' and wallet_id = '${walletId}' order by id desc limit 1)`;
  await db.owner.query(
    withoutTriggers(`create schema planted;
      create table planted.transfer as select * from pb.transfers where id = ${charge};
      create table planted.search as select * from pb.searches where id = ${charge};
      delete from pb.searches where id in (select id from planted.search);
      delete from pb.transfers where id in (select id from planted.transfer);
      update pb.wallets set debited_micros = debited_micros - 10000 where id = '${walletId}'`),
  );
  assert.deepEqual(await findDifferences(), ["debited", "double entry"]);
  await db.owner.query(
    `insert into pb.transfers select * from planted.transfer; insert into pb.searches select * from planted.search;
     update pb.wallets set debited_micros = debited_micros + 10000 where id = '${walletId}'`,
  );
  assert.deepEqual(await findDifferences(), []);
});

test("an hour that does not verify stays open until its difference is resolved", async () => {
  const seed = await seedWallet(db.owner, { credit: 20_000n });
  const limitsId = await seedKeyLimits(db.owner, seed.walletId, { total: 20_000n });
  const keyId = await seedKey(db.owner, seed.walletId, { limitsId });
  const run = { name: "a run", maxMicros: 20_000n, ttlSeconds: 60 };
  const item = { searchId: randomUUIDv7(), ...seed, keyId, run };
  await holdBatch(db.ledger, [item]);
  await captureBatch(db.ledger, [item]);
  const now = new Date(Date.now() + 2 * hourMs);
  await passWatermarks(db.owner, now);
  for (const [change, undo, expected] of [
    ["state = 'released'", "state = 'captured'", ["captures", "usage", "windows"]],
    ["key_id = gen_random_uuid()", `key_id = '${keyId}'`, ["references"]],
  ] as const) {
    await db.owner.query(`update pb.searches set ${change} where id = $1`, [item.searchId]);
    assert.deepEqual(await findDifferences(now), expected);
    const { closed, state } = await closeHours(db.owner, { now, waitMs });
    assert.deepEqual({ closed, state }, { closed: [], state: "differs" });
    await db.owner.query(`update pb.searches set ${undo} where id = $1`, [item.searchId]);
  }
  assert.ok((await closeDueHours(db.owner, now)).length > 0);
  assert.deepEqual(await findDifferences(now), [], "budgets and runs are compared with their checkpoints");
});

test("a run returns immediately while another is active", async () => {
  const client = new pg.Client({ connectionString: db.ownerUrl });
  await client.connect();
  await client.query("select pg_advisory_lock(hashtext('pennyblack reconcile'))");
  assert.equal(await reconcileHours(db.owner), undefined);
  await client.end();
});

test("an entry that appears in a closed hour is reported and not included", async () => {
  const seed = await seedWallet(db.owner, { credit: 20_000n });
  // As if the clock had been set back by hours: the current hour is closed, and then a search is captured in it.
  const now = new Date(Date.now() + 2 * hourMs);
  await passWatermarks(db.owner, now);
  await closeDueHours(db.owner, now);
  assert.deepEqual(await findDifferences(now), []);
  const item = { searchId: randomUUIDv7(), ...seed };
  await holdBatch(db.ledger, [item]);
  await captureBatch(db.ledger, [item]);
  assert.deepEqual(await findDifferences(now), ["debited", "double entry", "late entries"]);
  const { rows } = await db.owner.query("select from pb.wallet_hours where wallet_id = $1 and debited_micros > 0", [
    seed.walletId,
  ]);
  assert.equal(rows.length, 0);
});

test("an hour that is not closed within three hours is reported, with the condition it is waiting for", async () => {
  const now = new Date(Date.now() + 10 * hourMs);
  const report = await reconcileHours(db.owner, { now, waitMs });
  assert.ok(report);
  assert.match(formatReport(report), /✗ closed hours.*\n.*: expected closed, is sweep/);
});
