import type { Queryable } from "../../../src/db/pool.ts";

/**
 * Moves today's holds and budgets to another day or month. Periods are only compared for equality, so one day earlier or
 * later is enough if it is in the same month, and four years back is the same day of another month. The sweeper's watermark
 * moves back as well, because the holds are now older than it.
 */
export async function shiftCalendar(
  owner: Queryable,
  walletIds: string[],
  period: "next day" | "next month",
): Promise<void> {
  const step = "case when extract(day from clock_timestamp() at time zone 'utc') > 15 then -1 else 1 end";
  const interval = period === "next day" ? `make_interval(days => ${step})` : "interval '-4 years'";
  await owner.query(`update pb.searches set held_at = held_at + ${interval} where wallet_id = any ($1) and id >= $2`, [
    walletIds,
    walletIds.toSorted()[0],
  ]);
  await owner.query(
    `update pb.key_budgets set day = day + ${interval}, month = ${period === "next day" ? "month" : `month + ${interval}`}
     where wallet_id = any ($1)`,
    [walletIds],
  );
  // The limits of end users in these tests are per day.
  await owner.query(`update pb.end_user_budgets set resets_at = resets_at + ${interval} where wallet_id = any ($1)`, [
    walletIds,
  ]);
  await owner.query("update pb.sweep_watermark set settled_before = '1970-01-03'");
}
