import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../../test/support/services/database.ts";
import { holdBatch, releaseBatch } from "../statements.ts";
import { readSearches } from "./read-searches.ts";

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
