import assert from "node:assert/strict";
import { randomInt, randomUUIDv7 } from "node:crypto";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../../test/support/assertions/until.ts";
import { seedWallet } from "../../../test/support/data/seed-wallet.ts";
import { createTestDatabase } from "../../../test/support/services/database.ts";
import { firstIdOf } from "../../lib/first-id-of.ts";
import type { Micros } from "../../lib/money.ts";
import { captureBatch, holdBatch, refundBatch, topUpBatch } from "../statements.ts";
import { readStatement, type Statement, type StatementPosition, type StatementQuery } from "./read-statement.ts";
import { readWallet } from "./read-wallet.ts";

const db = await createTestDatabase();
after(() => db.drop());

type Entries = Statement["entries"];

/** Reads all pages and asserts that each balance is the previous balance plus the amount. */
async function readAll(walletId: string, query: Omit<StatementQuery, "position">): Promise<Entries> {
  const entries: Entries = [];
  let position: StatementPosition | undefined;
  do {
    const page = await readStatement(db.tenant, walletId, { ...query, position });
    assert.ok(page.entries.length <= query.limit);
    entries.push(...page.entries);
    position = page.next;
  } while (position);
  for (const [index, entry] of entries.entries()) {
    const below = entries[index + 1];
    if (!below) continue;
    assert.ok(entry.id > below.id, "newest first, each once");
    assert.equal(entry.balance, below.balance + entry.amount, `entry ${index} of ${entries.length}`);
  }
  return entries;
}

function opening(entries: Entries): Micros {
  const first = entries.at(-1);
  return first ? first.balance - first.amount : 0n;
}

test("balances add up across pages of any size while searches are charged out of order", async () => {
  const { walletId, keyId } = await seedWallet(db.owner, { credit: 100_000_000n });
  const stop = new AbortController();

  /** Captures happen in a different order than holds: some searches take longer than others. */
  async function search(): Promise<void> {
    while (!stop.signal.aborted) {
      const items = Array.from({ length: randomInt(1, 4) }, () => ({ searchId: randomUUIDv7(), walletId, keyId }));
      await holdBatch(db.ledger, items);
      await pause(randomInt(0, 100));
      await captureBatch(db.ledger, items);
      if (randomInt(5) === 0)
        await refundBatch(
          db.owner,
          items.slice(0, 1).map((item) => ({ ...item, reason: "a test" })),
        );
      if (randomInt(5) === 0)
        await topUpBatch(db.owner, "top_up", [{ walletId, paymentId: randomUUIDv7(), amount: 30_000n }]);
    }
  }

  const searching = Promise.all(Array.from({ length: 4 }, search));
  try {
    await until("there is something to read", async () => (await readAll(walletId, { limit: 1_000 })).length > 50);
    // Small pages first, while there are few entries.
    for (const limit of [1, 1, 2, 3, 5, 7, 20, 50, 100, 1_000]) {
      const entries = await readAll(walletId, { limit });
      // Entries booked between two page reads must not show up: all pages are one snapshot.
      assert.equal(opening(entries), 0n, `pages of ${limit}`);
    }
  } finally {
    stop.abort();
    await searching;
  }
  const entries = await readAll(walletId, { limit: 37 });
  assert.equal(entries[0]?.balance, (await readWallet(db.tenant, walletId))?.balance);
});

test("a time range has the same balances as the full statement", async () => {
  const { walletId } = await seedWallet(db.owner, { credit: 5_000_000n });
  // Captures over the last two days, as the ledger would have written them.
  await db.owner.query(
    `with made as (
       insert into pb.transfers (id, wallet_id, search_id, kind, from_account, to_account, amount_micros, created_at)
       select id, $1, id, 'capture', 'wallet', 'revenue', 10000, at
       from (select at, (left(pb.uuid_floor(at)::text, 14) || '7000-8000-' || lpad(n::text, 12, '0'))::uuid as id
         from generate_series(1, 80) n, lateral (select now() - n * interval '30 minutes' as at) m) s returning 1
     )
     update pb.wallets set debited_micros = 10000 * (select count(*) from made), created_at = now() - interval '3 days'
     where id = $1`,
    [walletId],
  );
  const whole = await readAll(walletId, { limit: 1_000 });
  assert.equal(whole.length, 81);
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  for (const [from, to] of [
    [hoursAgo(30), hoursAgo(29)],
    [hoursAgo(39), hoursAgo(20)],
    [hoursAgo(10), hoursAgo(3)],
    [hoursAgo(2), hoursAgo(-1)],
    [undefined, hoursAgo(28)],
    [hoursAgo(5), undefined],
  ]) {
    const part = await readAll(walletId, { from, to, limit: 7 });
    const at = whole.findIndex(({ id }) => id === part[0]?.id);
    assert.ok(part.length > 1 && at >= 0);
    assert.deepEqual(part, whole.slice(at, at + part.length));
  }
});

test("pages of any size cross weeks without entries", async () => {
  const { walletId } = await seedWallet(db.owner, { credit: 0n });
  const daysAgo = [30, 9, 8, 6, 3];
  for (const days of daysAgo) {
    const moment = new Date(Date.now() - days * 86_400_000);
    await db.owner.query("select pb.make_partitions(pb.utc_day($1), pb.utc_day($1))", [moment]);
    const id = `${firstIdOf(moment).slice(0, 14)}7${randomUUIDv7().slice(15)}`;
    await db.owner.query("select pb.top_up(array[$1], array[$2::uuid], array[10000], array[$3::uuid], 'top_up')", [
      `payment ${days}`,
      walletId,
      id,
    ]);
  }
  await topUpBatch(db.owner, "top_up", [{ walletId, paymentId: "payment today", amount: 30_000n }]);
  for (const limit of [1, 2, 3, 100]) {
    const entries = await readAll(walletId, { limit });
    assert.equal(entries.length, 1 + daysAgo.length, `pages of ${limit}`);
    assert.equal(opening(entries), 0n);
  }
  const some = await readAll(walletId, { limit: 2, from: new Date(Date.now() - 8.5 * 86_400_000) });
  assert.equal(some.length, 4);
});
