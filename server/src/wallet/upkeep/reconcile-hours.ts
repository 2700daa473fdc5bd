import type { Pool, Queryable } from "../../db/pool.ts";
import { type ClosedHours, type CloseOptions, closeHours } from "./close-hours.ts";
import { openChecks } from "./hour-checks.ts";
import { type CheckResult, type ReconcileReport, runCheck, toReport } from "./reconcile.ts";
import { adjustmentChecks } from "./reconcile-accounting.ts";
import { paymentChecks } from "./reconcile-payments.ts";

// The hourly pass of reconciliation: verifies and closes the hours that are due, then compares every counter with the sums
// of the closed hours and the rows of the open ones. Its duration depends on the number of wallets and on the searches of
// about two hours, not on the age of the ledger. Every check has its own snapshot.

/** Returns undefined if another run is active. Needs an owner pool with a long statement timeout. */
export async function reconcileHours(
  ownerPool: Pool,
  options: CloseOptions = {},
): Promise<ReconcileReport | undefined> {
  const client = await ownerPool.connect();
  let failure: Error | undefined;
  try {
    const { rows } = await client.query<{ is_free: boolean; at: Date }>(
      "select pg_try_advisory_lock(hashtext('pennyblack reconcile')) as is_free, now() as at",
    );
    if (!rows[0]?.is_free) return undefined;
    // Compiling a plan over many partitions takes longer than a check.
    await client.query("set jit = off");
    try {
      return toReport(rows[0].at.toISOString(), await runChecks(client, rows[0].at, options));
    } finally {
      await client.query("reset jit; select pg_advisory_unlock(hashtext('pennyblack reconcile'))");
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // After a failure, closing the connection also frees the lock.
    client.release(failure);
  }
}

async function runChecks(db: Queryable, at: Date, options: CloseOptions): Promise<CheckResult[]> {
  const hours = await closeHours(db, options);
  options.signal?.throwIfAborted();
  const watermark = await readWatermark(db);
  const { closedBefore } = watermark;
  const results = [...hours.checks, closingResult(hours, watermark, options.now ?? at)];
  for (const check of [...openChecks(closedBefore), ...paymentChecks, ...adjustmentChecks])
    results.push(await runCheck(db, check));
  return mergeByName(results);
}

interface Watermark {
  closedBefore: Date;
  /** When the first hour was prepared. */
  begunAt: Date;
}

async function readWatermark(db: Queryable): Promise<Watermark> {
  const { rows } = await db.query<Watermark>(
    'select closed_before as "closedBefore", begun_at as "begunAt" from pb.ledger_watermark',
  );
  if (!rows[0]) throw new Error("pb.ledger_watermark has no row");
  return rows[0];
}

const maxDelayMs = 3 * 3_600_000;

/**
 * An hour that waits several hours for a transaction, the sweeper or usage needs attention. Hours of the past, which the first run
 * finds, get the same time.
 */
function closingResult(hours: ClosedHours, { closedBefore, begunAt }: Watermark, now: Date): CheckResult {
  const isLate = now.getTime() - Math.max(closedBefore.getTime() + 3_600_000, begunAt.getTime()) > maxDelayMs;
  return {
    name: "closed hours",
    sentence: "Every hour is closed within three hours of its end.",
    compared: 1,
    differing: isLate ? 1 : 0,
    sample: isLate ? [{ subject: closedBefore.toISOString(), expected: "closed", actual: hours.state }] : [],
  };
}

/** Hours that were closed and open hours are compared by checks of the same name. */
function mergeByName(results: CheckResult[]): CheckResult[] {
  const merged = new Map<string, CheckResult>();
  for (const result of results) {
    const known = merged.get(result.name);
    if (!known) merged.set(result.name, { ...result });
    else {
      known.compared += result.compared;
      known.differing += result.differing;
      known.sample = [...known.sample, ...result.sample].slice(0, 5);
    }
  }
  return [...merged.values()];
}
