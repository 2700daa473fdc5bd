import { snapshotAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { countRecentSearches, readSearchTimes, type SearchTimes } from "../wallet/wallet.ts";
import { countColumns } from "./count-columns.ts";
import { type HourCount, type Summary, summarize, summaryStart } from "./summarize.ts";

export interface WalletUse extends Summary, SearchTimes {
  /** Every search that finished before this is included. */
  asOf: Date;
  /** There can be more replays and refusals in the last 24 hours. */
  isAtLeast: boolean;
}

/**
 * Rolled-up usage plus the searches finished since the roll-up, read on one snapshot so that none is counted twice. If
 * there are too many recent searches to count on demand, only the rolled-up usage.
 */
export async function readSummary(
  pool: Pool,
  walletId: string,
  { mode, now }: { mode: "live" | "test"; now: Date },
): Promise<WalletUse> {
  return snapshotAsTenant(pool, walletId, async (db) => {
    const counted = await db.query<HourCount & { asOf: Date; isAtLeast: boolean }>(
      `select w.as_of as "asOf", not w.is_complete as "isAtLeast", u.*
       from (
         select pb.usage_as_of() as as_of, pb.are_requests_complete($4, 'infinity') as is_complete
       ) w
       left join lateral (
         select hour as start, ${countColumns},
           coalesce(sum(searches) filter (where was_held and outcome = 'ok'), 0)::float8 as succeeded,
           sum(charged_micros)::bigint as charged
         from pb.usage_hours where wallet_id = $1 and hour >= $2 and mode = $3 group by hour
       ) u on true`,
      [walletId, summaryStart(now.getTime()), mode, new Date(now.getTime() - 86_400_000)],
    );
    const { asOf, isAtLeast } = counted.rows[0] ?? { asOf: now, isAtLeast: false };
    const recent = await countRecentSearches(db, walletId, { mode, since: asOf });
    const hours = [
      ...counted.rows.filter(({ start }) => start !== null),
      ...(recent ?? []).map(({ hour, outcome, searches, charged }) => ({
        start: hour,
        searches,
        succeeded: outcome === "ok" ? searches : 0,
        replays: 0,
        refusals: 0,
        charged,
      })),
    ];
    return {
      ...summarize(hours, now.getTime()),
      asOf: recent ? now : asOf,
      isAtLeast,
      ...(await readSearchTimes(db, walletId, mode)),
    };
  });
}
