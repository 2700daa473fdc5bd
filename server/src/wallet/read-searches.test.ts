import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { seedWallet } from "../../test/seed-wallet.ts";
import { readSearches } from "./read-searches.ts";
import { holdBatch, releaseBatch } from "./statements.ts";

const db = await createTestDatabase();
after(() => db.drop());

/** What the migration does to a database that has rows, with less patience: today's table is too large for it. */
function migrateAnew(): string {
  const sql = readFileSync(new URL("../../migrations/0019_reads.sql", import.meta.url), "utf8");
  const [indexes = ""] = /create index searches_unpaid on only[\s\S]*?from days;\nend;/.exec(sql) ?? [];
  assert.ok(indexes.includes("256 * 1024 * 1024"));
  return `drop function pb.searches_listed_since; drop index pb.searches_unpaid, pb.searches_of_tests;
    ${indexes.replace("256 * 1024 * 1024", "4096")}
    grant execute on function pb.searches_listed_since to pennyblack_tenant`;
}

test("a day that was too large to be indexed is not half listed, and is listed once it is indexed", async () => {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 50_000n });
  const items = [{ searchId: randomUUIDv7(), walletId, keyId, outcome: "upstream_error" }];
  await holdBatch(db.ledger, items);
  await releaseBatch(db.ledger, items);
  assert.equal((await readSearches(db.tenant, walletId, { most: 10 })).searches.length, 1);

  await db.owner.query(migrateAnew());
  const { searches, since } = await readSearches(db.tenant, walletId, { most: 10 });
  const today = new Date().toISOString().slice(0, 10);
  const tomorrow = new Date(Date.parse(today) + 86_400_000);
  assert.deepEqual([searches, since], [[], tomorrow]);

  // Days that are made later have the indexes, although those of the whole table are not complete.
  await db.owner.query("select pb.make_partitions(pb.utc_day(now()) + 40, pb.utc_day(now()) + 40)");
  assert.deepEqual((await readSearches(db.tenant, walletId, { most: 10 })).since, tomorrow);

  // By hand, as the migration says, for every day from today back.
  const { rows } = await db.owner.query<{ name: string }>(
    `select relname as name from pg_class where relname ~ '^searches_\\d{8}$' and right(relname, 8) <= $1
     and relnamespace = 'pb'::regnamespace`,
    [today.replaceAll("-", "")],
  );
  for (const { name } of rows) {
    for (const [index, where] of [
      ["searches_unpaid", "outcome is not null and mode = 'live'"],
      ["searches_of_tests", "mode = 'test'"],
    ]) {
      await db.owner.query(
        `create index concurrently ${name}_${index} on pb.${name} (wallet_id, id desc) where ${where}`,
      );
      await db.owner.query(`alter index pb.${index} attach partition pb.${name}_${index}`);
    }
  }
  const whole = await readSearches(db.tenant, walletId, { most: 10 });
  assert.equal(whole.searches.length, 1);
  assert.ok(whole.since < new Date(today), whole.since.toISOString());
});
