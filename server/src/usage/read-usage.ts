import { snapshotAsTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";
import { countRecentSearches } from "../wallet/wallet.ts";
import { countColumns } from "./count-columns.ts";

export const usageGroups = ["key", "category", "outcome", "end_user"] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  by: "hour" | "day";
  /** Whole hours or days; `to` is exclusive. */
  from: Date;
  to: Date;
  /** `end_user` is not combined with others, nor with hours. */
  groups: readonly UsageGroup[];
  /** Only searches for this end user, in any of these stored forms. Not combined with other groups, nor with hours. */
  endUsers?: readonly string[] | undefined;
  /** Position of the last line of the previous page. */
  after?: readonly string[] | undefined;
  limit: number;
}

export interface UsageLine {
  /** Start of the hour or day. */
  start: string;
  mode: "live" | "test";
  /** Present if grouped by it. A search without a category has the empty string. */
  key_id?: string;
  category?: string;
  outcome?: string;
  end_user?: string;
  searches: number;
  /** Absent by end user. */
  replays?: number;
  refusals?: number;
  charged: Micros;
}

export interface Usage {
  /** Every search that finished before this is counted. */
  asOf: Date;
  /** There can be more replays and refusals. */
  isAtLeast: boolean;
  lines: UsageLine[];
}

const tables = {
  hour: { name: "usage_hours", type: "timestamptz" },
  day: { name: "usage_days", type: "date" },
  endUser: { name: "usage_end_users", type: "date" },
};
const columns = {
  key: { name: "key_id", type: "uuid" },
  category: { name: "category", type: "text" },
  outcome: { name: "outcome", type: "text" },
  end_user: { name: "end_user", type: "text" },
};

const countedSearches = "sum(searches)::float8 as searches";

/**
 * Rolled-up usage plus the searches finished since the roll-up, read on one snapshot so that none is counted twice. Oldest
 * first. Periods and groups without searches have no line.
 */
export async function readUsage(pool: Pool, walletId: string, query: UsageQuery): Promise<Usage> {
  const { by, from, to, groups, endUsers, after, limit } = query;
  const isByEndUser = endUsers !== undefined || groups.includes("end_user");
  const table = tables[isByEndUser ? "endUser" : by];
  // Only identifiers defined here are interpolated; the caller chooses among them.
  const keys = [{ name: by, type: table.type }, { name: "mode", type: "pb.key_mode" }, ...inOrder(groups)];
  const names = keys.map(({ name }) => name);
  const position = keys.map(({ type }, index) => `$${index + 7}::${type}`);
  const counted = `mode, ${isByEndUser ? "end_user" : "key_id, category, outcome"}, searches, charged_micros`;
  // Replays and refusals are not counted by end user.
  const wasHeld = isByEndUser ? "true as was_held" : "was_held";
  // A caller can send a different end user with every search, so a page must not read all of the range. Each row has its own
  // day, mode and end user, so the first rows of a page are enough for it.
  const start = after && groups.length > 0 ? position.join(", ") : "null, null, null";
  const rolledUp = isByEndUser
    ? `pb.own_end_user_usage($2::date, $3::date, $6, ${start}, $4) where $1 = pb.own_wallet()`
    : `pb.${table.name} where wallet_id = $1 and searches > 0`;
  const sql = `
    select to_char(${by} ${by === "hour" ? "at time zone 'utc'" : ""}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as start,
      ${names.slice(1).join(", ")},
      ${isByEndUser ? countedSearches : countColumns}, sum(charged_micros)::bigint as charged
    from (
      select ${by}, ${counted}, ${wasHeld} from ${rolledUp}
      union all
      select ${by === "hour" ? "hour" : "(hour at time zone 'utc')::date"}, ${counted}, true from jsonb_to_recordset($5)
        as r (hour timestamptz, mode pb.key_mode, key_id uuid, category text, outcome text, end_user text,
          searches bigint, charged_micros bigint)
    ) u
    where ${isByEndUser ? "end_user is not null and ($6::text[] is null or end_user = any ($6)) and" : "$6::text[] is null and"}
      ${by} >= $2::${table.type} and ${by} < $3::${table.type}
      ${after ? `and ${by} >= ${position[0]} and (${names.join(", ")}) > (${position.join(", ")})` : ""}
    group by ${names.join(", ")} order by ${names.join(", ")} limit $4`;
  const edge = (moment: Date): string => (by === "day" ? moment.toISOString().slice(0, 10) : moment.toISOString());
  return snapshotAsTenant(pool, walletId, async (db) => {
    const now = new Date();
    const state = await db.query<{ since: Date; isAtLeast: boolean }>(
      `select pb.usage_as_of() as since, not pb.are_requests_complete($1, $2) as "isAtLeast"`,
      [from, to],
    );
    const { since, isAtLeast } = state.rows[0] ?? { since: new Date(0), isAtLeast: false };
    const recent = await countRecentSearches(db, walletId, { since, isByEndUser });
    const rest = (recent ?? []).map(({ keyId, endUser, charged, ...count }) => ({
      ...count,
      key_id: keyId,
      end_user: endUser,
      charged_micros: String(charged),
    }));
    const values = [walletId, edge(from), edge(to), limit, JSON.stringify(rest), endUsers ?? null, ...(after ?? [])];
    const { rows } = await db.query<UsageLine>(sql, values);
    return { asOf: recent ? now : since, isAtLeast, lines: rows };
  });
}

/** The sort key of a line: start, mode and its groups. */
export function positionOf({ start, mode, key_id, category, outcome, end_user }: UsageLine): string[] {
  return [start, mode, key_id, category, outcome, end_user].filter((part) => part !== undefined);
}

function inOrder(groups: readonly UsageGroup[]): { name: string; type: string }[] {
  return usageGroups.filter((group) => groups.includes(group)).map((group) => columns[group]);
}
