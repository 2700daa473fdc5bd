import { snapshotAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import { countRecentSearches, readSearchTimes, type SearchTimes } from "../wallet/wallet.ts";
import { type HourCount, type Summary, summarize, summaryStart } from "./summarize.ts";

export interface WalletUse extends Summary, SearchTimes {
  /** Every search that finished before this is included. */
  asOf: Date;
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
    const counted = await db.query<HourCount & { asOf: Date }>(
      `select w.as_of as "asOf", u.hour as start, u.searches, u.ok, u.charged
       from (select pb.usage_as_of() as as_of) w
       left join lateral (
         select hour, sum(searches)::float8 as searches, coalesce(sum(searches) filter (where outcome = 'ok'), 0)::float8 as ok,
           sum(charged_micros)::bigint as charged
         from pb.usage_hours where wallet_id = $1 and hour >= $2 and mode = $3 and was_held group by hour
       ) u on true`,
      [walletId, summaryStart(now.getTime()), mode],
    );
    const asOf = counted.rows[0]?.asOf ?? now;
    const recent = await countRecentSearches(db, walletId, { mode, since: asOf });
    const hours = [
      ...counted.rows.filter(({ start }) => start !== null),
      ...(recent ?? []).map(({ hour, outcome, searches, charged }) => ({
        start: hour,
        searches,
        ok: outcome === "ok" ? searches : 0,
        charged,
      })),
    ];
    return {
      ...summarize(hours, now.getTime()),
      asOf: recent ? now : asOf,
      ...(await readSearchTimes(db, walletId, mode)),
    };
  });
}
