import assert from "node:assert/strict";
import { randomUUIDv7 } from "node:crypto";
import { test } from "node:test";
import { createTasks, type TaskDependencies } from "../../src/jobs/tasks.ts";
import { readUsageLag, recountUsage, rollUpUsage } from "../../src/usage/usage.ts";
import { captureBatch, expireHolds, holdBatch, topUpBatch } from "../../src/wallet/statements.ts";
import { formatReport } from "../../src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../../src/wallet/upkeep/reconcile-hours.ts";
import { createDatabase } from "../fixture.ts";
import { passWatermarks, waitMs } from "../support/data/close-due-hours.ts";
import { seedWallet } from "../support/data/seed-wallet.ts";

const db = await createDatabase();
const minuteMs = 60_000;
const { signal } = new AbortController();

async function runTask(name: string): Promise<string[]> {
  const scheduled: string[] = [];
  const tasks = createTasks({
    log: { debug: () => undefined, warn: () => undefined },
    metrics: { countUsageCorrections: () => undefined },
    rollUpUsage: (stop: AbortSignal) => rollUpUsage(db.worker, stop),
    recountUsage: (stop: AbortSignal) => recountUsage(db.worker, stop),
    usageLagSeconds: () => readUsageLag(db.worker),
  } as unknown as TaskDependencies);
  await tasks[name]?.({ schedule: async (task) => void scheduled.push(task), signal });
  return scheduled;
}

async function assertClean(now = new Date()): Promise<void> {
  // Only the owner may pass another time.
  const report = await reconcileHours(db.owner, { now, waitMs });
  assert.ok(report?.isClean, report && formatReport(report));
}

test("after the clock was set back by five minutes at a failover, every search is counted and closed with its hour", async () => {
  const seed = await seedWallet(db.owner, { credit: 1_000_000n });
  // The watermarks of a clock that was five minutes ahead.
  await passWatermarks(db.owner, new Date(Date.now() + 3 * minuteMs));
  const searches = Array.from({ length: 5 }, () => ({ searchId: randomUUIDv7(), ...seed }));
  await holdBatch(db.ledger, searches);
  await captureBatch(db.ledger, searches.slice(1));
  await topUpBatch(db.owner, "top_up", [{ paymentId: "after failover", walletId: seed.walletId, amount: 1_000n }]);
  for (const task of await runTask("roll_up_usage")) await runTask(task);
  await assertClean();

  await db.owner.query("update pb.searches set expires_at = held_at + interval '1 ms' where state = 'pending'");
  assert.equal((await expireHolds(db.worker, 10, true)).holds, 1, "behind the watermark");
  const later = new Date(Date.now() + 120 * minuteMs);
  await passWatermarks(db.owner, later);
  assert.deepEqual(await runTask("roll_up_usage"), ["recount_usage"], "this watermark is ahead of the clock too");
  await assertClean(later);
  const { rows } = await db.owner.query(
    "select sum(entries) as entries, sum(debited_micros) as debited from pb.wallet_hours where wallet_id = $1",
    [seed.walletId],
  );
  assert.deepEqual(rows, [{ entries: "6", debited: "40000" }]);

  await db.owner.query("update pb.usage_watermark set counted_before = clock_timestamp() - interval '2 minutes'");
  await db.owner.query("update pb.sweep_watermark set settled_before = clock_timestamp() - interval '2 minutes'");
  assert.deepEqual(await runTask("roll_up_usage"), [], "the clock is right");
});
