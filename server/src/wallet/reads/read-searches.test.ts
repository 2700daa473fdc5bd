import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../../test/support/services/database.ts";
import { captureBatch, type Hold, holdBatch, releaseBatch } from "../statements.ts";
import { readSearch, readSearches } from "./read-searches.ts";

const db = await createTestDatabase();
after(() => db.drop());

test("searches are listed since the first day that has a partition", async () => {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 50_000n });
  const items = [{ searchId: randomUUIDv7(), walletId, keyId, outcome: "upstream_error" }];
  await holdBatch(db.ledger, items);
  await releaseBatch(db.ledger, items);
  await db.owner.query("select pb.make_partitions('2026-01-31', '2026-01-31')");
  const { searches, since } = await readSearches(db.tenant, walletId, { limit: 10 });
  assert.equal(searches.length, 1);
  assert.deepEqual(since, new Date("2026-01-31T00:00:00Z"));
});

test("a search takes the time of its steps and of the ledger, whether it was captured or released", async () => {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 50_000n });
  const stepMs = { auth: 12.4, hold: 33.6, upstream: 2_000, rank: 99_999 };
  const newSearch = () => ({ searchId: randomUUIDv7(), walletId, keyId });
  const [alone, first, second] = [newSearch(), newSearch(), newSearch()];
  const [released, unreported] = [newSearch(), newSearch()];
  await holdBatch(db.ledger, [alone, first, second, released, unreported]);
  const upstreams = "brave:timeout,exa";
  await captureBatch(db.ledger, [{ ...alone, stepMs, upstreams }]);
  await captureBatch(db.ledger, [first, { ...second, stepMs, upstreams }]);
  await releaseBatch(db.ledger, [{ ...released, stepMs, upstreams }, unreported]);
  await db.owner.query(
    "update pb.searches set settled_at = held_at + interval '35 seconds' where wallet_id = $1 and state <> 'pending'",
    [walletId],
  );
  const read = async ({ searchId }: Hold) => {
    const { ms, steps } = (await readSearch(db.tenant, walletId, searchId)) ?? {};
    return { ms, steps };
  };
  const steps = { auth: 12, hold: 34, upstream: 2_000, rank: 32_767, ledger: 233 };
  for (const search of [alone, second, released]) assert.deepEqual(await read(search), { ms: 35_046, steps });
  const { rows } = await db.owner.query<{ id: string }>("select id from pb.searches where upstreams = $1", [upstreams]);
  const withUpstreams = [alone, second, released].map(({ searchId }) => searchId);
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), withUpstreams.toSorted());
  for (const search of [first, unreported]) assert.deepEqual(await read(search), { ms: 35_000, steps: null });
});
