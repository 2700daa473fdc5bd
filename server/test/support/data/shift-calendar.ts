import type { Queryable } from "../../../src/db/pool.ts";

/** Ends the windows of the day, or of the day and the week or month, as if midnight had passed since they were opened. */
export async function shiftCalendar(
  owner: Queryable,
  walletIds: string[],
  period: "next day" | "next week" | "next month",
): Promise<void> {
  await owner.query(
    `update pb.budget_windows w set resets_at = least(w.resets_at, pb.utc_day(clock_timestamp())::timestamp at time zone 'utc')
     from pb.budgets b
     where b.id = w.budget_id and b.wallet_id = any ($1) and b.period in ('day', $2)`,
    [walletIds, period.replace("next ", "")],
  );
}
