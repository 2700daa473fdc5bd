import assert from "node:assert/strict";
import { createHash, randomInt, randomUUIDv7 } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pool } from "../../../src/db/pool.ts";
import { priceMicros } from "../../../src/lib/money.ts";
import { closeMonth } from "../../../src/wallet/accounting/months.ts";
import { expireHolds, refundBatch, topUpBatch } from "../../../src/wallet/statements.ts";
import { formatReport } from "../../../src/wallet/upkeep/reconcile.ts";
import { reconcileHours } from "../../../src/wallet/upkeep/reconcile-hours.ts";
import { dropOldDays } from "../../../src/wallet/upkeep/retention.ts";
import { saveReport } from "../../../src/wallet/upkeep/save-report.ts";
import { createLedger, type HoldRequest } from "../../../src/wallet/wallet.ts";
import { seedCorrections } from "../payments/seed-corrections.ts";
import { seedPayments } from "../payments/seed-payments.ts";
import { createTestDatabase, type TestDatabase } from "../services/database.ts";
import { passWatermarks, waitMs } from "./close-due-hours.ts";
import { seedOldDay } from "./seed-old-day.ts";
import { seedKey, seedKeyLimits, seedWallet } from "./seed-wallet.ts";

/** A ledger with rows in every table, for tests of reconciliation. */
export interface BusyLedger {
  database: TestDatabase;
  /** Runs searches with every possible outcome. Some stay pending. */
  spend(searches: number): Promise<void>;
  /** Expires a few abandoned holds, as the sweeper does, until the promise settles. */
  sweepDuring(work: Promise<unknown>): Promise<void>;
}

/** Three wallets with a budget for each mode, one with payments, and one whose only day has been archived and dropped. */
export async function createBusyLedger(): Promise<BusyLedger> {
  const database = await createTestDatabase();
  const seeds: Seed[] = [];
  for (let created = 0; created < 3; created += 1) {
    const { walletId } = await seedWallet(database.owner, { credit: 10_000n * priceMicros });
    for (const mode of ["live", "test"] as const) {
      const endUser = { amount: 900_000n * priceMicros, period: "month" } as const;
      const limits = { total: endUser.amount, day: endUser.amount, month: endUser.amount, endUser };
      const limitsId = await seedKeyLimits(database.owner, walletId, limits, mode);
      seeds.push({ walletId, keyId: await seedKey(database.owner, walletId, { mode, limitsId }) });
    }
  }
  const { walletId } = await seedWallet(database.owner, { credit: priceMicros });
  await seedPayments(database.owner, walletId);
  await seedCorrections(database.owner);
  await seedOldDay(database.owner, 60);
  await dropOldDay(database);
  await closeLastMonth(database.owner);
  return {
    database,
    async spend(searches) {
      const ledger = createLedger(database.ledger);
      const worker = async (): Promise<void> => {
        for (let done = 0; done < searches / 16; done += 1) await search(ledger, database.owner, anyRequest(seeds));
      };
      await Promise.all(Array.from({ length: 16 }, worker));
    },
    async sweepDuring(work) {
      let isDone = false;
      const ended = work.finally(() => {
        isDone = true;
      });
      for (;;) {
        if (isDone) break;
        await expireSome(database);
      }
      await ended;
    },
  };
}

interface Seed {
  walletId: string;
  keyId: string;
}

async function dropOldDay({ owner }: TestDatabase): Promise<void> {
  await passWatermarks(owner);
  const report = await reconcileHours(owner, { waitMs });
  assert.ok(report?.isClean, report && formatReport(report));
  await saveReport(owner, report);
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-archive-"));
  const dropped = await dropOldDays(owner, { days: 40, folder }, new AbortController().signal);
  assert.equal(dropped.length, 1);
  rmSync(folder, { recursive: true });
}

async function closeLastMonth(owner: Pool): Promise<void> {
  const lastMonth = new Date();
  lastMonth.setUTCDate(0);
  const month = lastMonth.toISOString().slice(0, 7);
  assert.equal(await closeMonth(owner, { operator: "test", reason: "a test", month }), "closed");
}

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

function anyRequest(seeds: Seed[]): HoldRequest {
  return {
    searchId: randomUUIDv7(),
    ...(seeds[randomInt(seeds.length)] as Seed),
    endUser: `user ${randomInt(3)}`,
    ...(randomInt(2) === 0 && {
      idempotency: { keyHmac: sha256(`key ${randomInt(400)}`), fingerprint: sha256(`body ${randomInt(2)}`) },
    }),
    ...(randomInt(2) === 0 && {
      run: { name: `run ${randomInt(3)}`, maxMicros: 100_000n * priceMicros, ttlSeconds: 3_600 },
    }),
  };
}

async function search(ledger: ReturnType<typeof createLedger>, owner: Pool, item: HoldRequest): Promise<void> {
  const { outcome } = await ledger.hold(item);
  const end = outcome === "held" ? randomInt(10) : 10;
  if (end < 6) await ledger.capture({ ...item, answer: Buffer.from("an answer") });
  else if (end < 9) await ledger.release(item);
  if (end < 2) await refundBatch(owner, [{ ...item, reason: "a test" }]);
  if (end === 10)
    await topUpBatch(owner, "credit", [{ paymentId: randomUUIDv7(), walletId: item.walletId, amount: 1n }]);
}

/** Makes a few abandoned holds overdue, then sweeps. */
async function expireSome({ owner }: TestDatabase): Promise<void> {
  await owner.query(
    `update pb.searches set expires_at = clock_timestamp() - interval '1 second'
     where state = 'pending' and held_at < clock_timestamp() - interval '300 milliseconds' and id in (
       select id from pb.searches where state = 'pending' order by id limit 5 for update skip locked)`,
  );
  await expireHolds(owner, 3);
}
