import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { uuidOf } from "../../../test/support/data/uuid-of.ts";
import { createTestDatabase } from "../../../test/support/services/database.ts";
import { deleteOldTestSearches } from "./prune.ts";

const db = await createTestDatabase();
const { signal } = new AbortController();
const dayMs = 86_400_000;
const noonMs = (daysAgo: number): number => (Math.floor(Date.now() / dayMs) - daysAgo + 0.5) * dayMs;

after(() => db.drop());

/** Inserts searches as the ledger would have left them at noon of a day. */
async function seedSearches(
  {
    mode,
    state,
    count,
    daysAgo,
  }: { mode: "live" | "test"; state: "captured" | "pending"; count: number; daysAgo: number },
  { walletId, keyId }: { walletId: string; keyId: string },
): Promise<void> {
  const at = new Date(noonMs(daysAgo));
  await db.owner.query("select pb.make_partitions($1::date, $1::date)", [at.toISOString().slice(0, 10)]);
  await db.owner.query(
    `insert into pb.searches (id, wallet_id, key_id, mode, price_micros, state, held_at, expires_at, settled_at)
     select id, $2, $3, $4::pb.key_mode, case $4 when 'live' then 10000 else 0 end, $5::pb.search_state, $6::timestamptz, $6,
       case $5 when 'pending' then null else $6::timestamptz end
     from unnest($1::uuid[]) id`,
    [Array.from({ length: count }, (_, index) => uuidOf(at.getTime() + index)), walletId, keyId, mode, state, at],
  );
}

async function countSearches(): Promise<Record<string, number>> {
  const { rows } = await db.owner.query<{ name: string; count: bigint }>(
    `select mode || ' ' || state || ' ' || (pb.utc_day(clock_timestamp()) - pb.utc_day(held_at)) as name, count(*)
     from pb.searches group by 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]));
}

async function countUsageBefore(at: Date): Promise<void> {
  await db.owner.query("update pb.usage_watermark set counted_before = $1", [at]);
}

test("test searches are deleted after three days, in batches, and no other search is", async () => {
  const wallets = [await seedWallet(db.owner, { credit: 0n }), await seedWallet(db.owner, { credit: 0n })];
  for (const wallet of wallets) {
    await seedSearches({ mode: "test", state: "captured", count: 1_500, daysAgo: 5 }, wallet);
    await seedSearches({ mode: "test", state: "captured", count: 10, daysAgo: 2 }, wallet);
    await seedSearches({ mode: "live", state: "captured", count: 10, daysAgo: 5 }, wallet);
    await seedSearches({ mode: "test", state: "pending", count: 1, daysAgo: 6 }, wallet);
  }
  await countUsageBefore(new Date(noonMs(4)));
  assert.equal(await deleteOldTestSearches(db.worker, 3, signal), 0, "their usage may still be counted");
  await countUsageBefore(new Date());
  assert.equal(await deleteOldTestSearches(db.worker, 30, signal), 0);
  assert.equal(await deleteOldTestSearches(db.worker, 3, signal), 3_000);
  assert.deepEqual(await countSearches(), { "test captured 2": 20, "live captured 5": 20, "test pending 6": 2 });
  assert.equal(await deleteOldTestSearches(db.worker, 3, signal), 0);
});
