import { asTenant } from "../db/as-tenant.ts";
import type { Pool } from "../db/pool.ts";
import type { Micros } from "../lib/money.ts";

export const usageGroups = ["key", "category", "outcome"] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageWanted {
  by: "hour" | "day";
  /** Whole hours or days, the last one not included. */
  from: Date;
  to: Date;
  groups: readonly UsageGroup[];
  /** The place of the last line of the page before. */
  after?: readonly string[] | undefined;
  most: number;
}

export interface UsageLine {
  /** The first moment of the hour or day. */
  start: string;
  mode: "live" | "test";
  /** The groups that were asked for; no category is the empty string. */
  key_id?: string;
  category?: string;
  outcome?: string;
  searches: bigint;
  charged: Micros;
}

export interface Usage {
  /** Every search held before this moment is counted. */
  asOf: Date;
  lines: UsageLine[];
}

const tables = { hour: { name: "usage_hours", type: "timestamptz" }, day: { name: "usage_days", type: "date" } };
const columns = {
  key: { name: "key_id", type: "uuid" },
  category: { name: "category", type: "text" },
  outcome: { name: "outcome", type: "text" },
};

/** Oldest first. A stretch or a combination without a search has no line. */
export async function readUsage(pool: Pool, walletId: string, wanted: UsageWanted): Promise<Usage> {
  const { by, from, to, groups, after, most } = wanted;
  const table = tables[by];
  // Words of ours only: what the caller chose is which of them.
  const keys = [{ name: by, type: table.type }, { name: "mode", type: "pb.key_mode" }, ...inOrder(groups)];
  const names = keys.map(({ name }) => name);
  const place = keys.map(({ type }, index) => `$${index + 5}::${type}`);
  const sql = `
    select to_char(${by} ${by === "hour" ? "at time zone 'utc'" : ""}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as start,
      ${names.slice(1).join(", ")},
      sum(searches)::bigint as searches, sum(charged_micros)::bigint as charged
    from pb.${table.name}
    where wallet_id = $1 and ${by} >= $2::${table.type} and ${by} < $3::${table.type} and searches > 0
      ${after ? `and ${by} >= ${place[0]} and (${names.join(", ")}) > (${place.join(", ")})` : ""}
    group by ${names.join(", ")} order by ${names.join(", ")} limit $4`;
  const edge = (moment: Date): string => (by === "day" ? moment.toISOString().slice(0, 10) : moment.toISOString());
  return asTenant(pool, walletId, async (db) => {
    const asOf = await db.query<{ at: Date }>("select pb.usage_as_of() as at");
    const { rows } = await db.query<UsageLine>(sql, [walletId, edge(from), edge(to), most, ...(after ?? [])]);
    return { asOf: asOf.rows[0]?.at ?? new Date(0), lines: rows };
  });
}

/** Where a line stands among the others: start, mode and its groups. */
export function placeOf({ start, mode, key_id, category, outcome }: UsageLine): string[] {
  return [start, mode, key_id, category, outcome].filter((part) => part !== undefined);
}

function inOrder(groups: readonly UsageGroup[]): { name: string; type: string }[] {
  return usageGroups.filter((group) => groups.includes(group)).map((group) => columns[group]);
}
