import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, before, test } from "node:test";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { uuidOf } from "../../../test/support/data/uuid-of.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/support/services/database.ts";
import { holdBatch } from "../statements.ts";

let database: TestDatabase;

before(async () => {
  database = await createTestDatabase();
});

after(() => database.drop());

test("partitions exist fourteen days ahead, and creating them is idempotent", async () => {
  const { rows } = await database.owner.query<{ ahead: number; made: number; more: number; then: number }>(`
    with today as (select (clock_timestamp() at time zone 'utc')::date as day)
    select pb.partition_days_ahead() as ahead, pb.make_partitions(day - 2, day + 13) as made from today`);
  // 13 if midnight UTC has passed since the template database was created.
  assert.ok((rows[0]?.ahead ?? 0) >= 13);
  assert.equal(rows[0]?.made, 0);
  const later = await database.owner.query<{ made: number }>(
    "select pb.make_partitions(day + 20, day + 21) as made from (select (clock_timestamp() at time zone 'utc')::date as day) d",
  );
  assert.equal(later.rows[0]?.made, 6, "three tables, two days");
});

test("ids on both sides of midnight go to different partitions and stay unique", async () => {
  const seed = await seedWallet(database.owner, { credit: 1_000_000n });
  const dayMs = 86_400_000;
  const midnight = Math.ceil(Date.now() / dayMs) * dayMs;
  // The next midnight and the last one.
  for (const moment of [midnight, midnight - dayMs]) {
    const items = [moment - 1, moment].map((timeMs) => ({ searchId: uuidOf(timeMs), ...seed }));
    const hold = async (): Promise<string[]> => (await holdBatch(database.ledger, items)).map(({ outcome }) => outcome);
    assert.deepEqual(await hold(), ["held", "held"]);
    assert.deepEqual(await hold(), ["held", "held"], "retried");
    const { rows } = await database.owner.query<{ partition: string; id: string }>(
      `select tableoid::regclass::text as partition, id from pb.searches where id = any ($1) order by id`,
      [items.map((item) => item.searchId)],
    );
    const day = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10).replaceAll("-", "");
    assert.deepEqual(
      rows.map((row) => row.partition),
      [`pb.searches_${day(moment - 1)}`, `pb.searches_${day(moment)}`],
    );
    for (const { id } of rows)
      await assert.rejects(
        database.owner.query(
          `insert into pb.searches select (s).* from (
             select jsonb_populate_record(s, '{"held_at": "2001-01-01T00:00:00Z"}') as s from pb.searches s where id = $1
           ) other_day`,
          [id],
        ),
        { code: "23505" },
      );
  }
});

test("rejects ids from a server whose clock is more than a day off", async () => {
  const seed = await seedWallet(database.owner, { credit: 1_000_000n });
  const hourMs = 3_600_000;
  const items = [-25, -23, 23, 25].map((hours) => ({ searchId: uuidOf(Date.now() + hours * hourMs), ...seed }));
  const outcomes = await holdBatch(database.ledger, [...items, { searchId: randomUUIDv7(), ...seed }]);
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ["clock_skewed", "held", "held", "clock_skewed", "held"],
  );
});
