import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Pool } from "../../src/db/pool.ts";
import { positionOf, readUsage, type UsageLine, type UsageQuery } from "../../src/usage/read-usage.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";
import { createTestDatabase } from "../support/services/database.ts";

const db = await createTestDatabase();
after(() => db.drop());

const { walletId } = await seedWallet(db.owner, {});
// 5,000 end users on each of two days, in both modes.
await db.owner.query(
  `insert into pb.usage_end_users
   select $1, date '2026-01-01' + d, m, 'user-' || n, 2, 10000
   from generate_series(0, 1) d, unnest('{live,test}'::pb.key_mode[]) m, generate_series(1, 5000) n`,
  [walletId],
);
await db.owner.query("vacuum analyze pb.usage_end_users");

/** A pool that counts the rows and index entries of the table that each transaction reads. */
function countReads(pool: Pool): { pool: Pool; counts: number[] } {
  const counts: number[] = [];
  const connect = async () => {
    const client = await pool.connect();
    let countBefore = 0;
    const count = async (): Promise<number> => {
      const { rows } = await client.query<{ count: bigint }>(
        `select sum(pg_stat_get_xact_tuples_returned(o)) as count
         from unnest('{pb.usage_end_users, pb.usage_end_users_pkey}'::regclass[]) o`,
      );
      return Number(rows[0]?.count);
    };
    const query = async (text: string, values?: unknown[]) => {
      if (text === "commit") counts.push((await count()) - countBefore);
      const result = await client.query(text, values);
      if (text.startsWith("begin")) countBefore = await count();
      return result;
    };
    return { query, release: (failure?: Error) => client.release(failure) };
  };
  return { pool: { connect, options: pool.options } as unknown as Pool, counts };
}

const query: UsageQuery = {
  by: "day",
  from: new Date("2026-01-01"),
  to: new Date("2026-01-03"),
  groups: ["end_user"],
  limit: 100,
};

test("a page of end users reads about as many rows as it returns, wherever it starts", async () => {
  const { pool, counts } = countReads(db.tenant);
  const { lines } = await readUsage(pool, walletId, query);
  assert.equal(lines.length, 100);
  const last = lines.at(-1) ?? assert.fail();
  const later = { ...last, start: "2026-01-02T00:00:00Z" };
  assert.equal((await readUsage(pool, walletId, { ...query, after: positionOf(later) })).lines.length, 100);
  const { lines: found } = await readUsage(pool, walletId, { ...query, endUsers: ["user-7", "user-8"] });
  assert.equal(found.length, 8);
  for (const count of counts) assert.ok(count <= 300, `${counts.join(", ")} of 20,000 rows were read`);
});

test("pages of end users contain every line once, in order", async () => {
  const lines: UsageLine[] = [];
  for (let after: string[] | undefined; ; ) {
    const page = await readUsage(db.tenant, walletId, { ...query, limit: 1_900, after });
    lines.push(...page.lines);
    const last = page.lines.at(-1);
    if (!last) break;
    after = positionOf(last);
  }
  assert.equal(lines.length, 20_000);
  assert.equal(new Set(lines.map((line) => positionOf(line).join(" "))).size, 20_000);
  const { lines: days } = await readUsage(db.tenant, walletId, { ...query, groups: [], endUsers: ["user-7"] });
  assert.deepEqual(
    days.map(({ start, mode, searches }) => [start.slice(0, 10), mode, searches]),
    [
      ["2026-01-01", "live", 2],
      ["2026-01-01", "test", 2],
      ["2026-01-02", "live", 2],
      ["2026-01-02", "test", 2],
    ],
  );
});
