import type { Queryable } from "../../../src/db/pool.ts";
import { type ClosedHour, closeHours } from "../../../src/wallet/upkeep/close-hours.ts";
import { until } from "../assertions/until.ts";

/** Moves the watermarks of the sweeper and of usage to `now`, which pending holds would otherwise keep behind. */
export async function passWatermarks(owner: Queryable, now = new Date()): Promise<void> {
  await owner.query("update pb.sweep_watermark set settled_before = $1", [now]);
  await owner.query("select pb.roll_up_usage('100 days')");
}

/**
 * How long to wait for transactions of other test files, which also delay closing: PostgreSQL numbers transactions per
 * cluster, not per database.
 */
export const waitMs = 120_000;

/** Closes the hours that are due at `now` by the database's clock. */
export async function closeDueHours(owner: Queryable, now = new Date()): Promise<ClosedHour[]> {
  const closed: ClosedHour[] = [];
  await until("every due hour is closed", async () => {
    const found = await closeHours(owner, { now, waitMs });
    closed.push(...found.closed);
    return found.state === "open";
  });
  return closed;
}
