import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { didYouMean, invalidParameter, listWords } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import {
  anyText,
  dayOrTime,
  InvalidValue,
  isUuid,
  oneOf,
  pageSize,
  readQuery,
} from "../http/input/query-parameters.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import { isEndUser } from "../lib/end-user-id.ts";
import { formatUsd } from "../lib/money.ts";
import { suggest } from "../lib/suggest.ts";
import { type DataKeys, findStoredEndUser } from "../wallet/wallet.ts";
import { readEndUserParameter } from "./end-user-parameter.ts";
import { positionOf, readUsage, type UsageGroup, type UsageLine, type UsageQuery, usageGroups } from "./read-usage.ts";

export interface UsageRouteDependencies {
  tenant: Pool;
  dataKeys: DataKeys;
  guard: Guard;
}

const moment = Type.String({ format: "date-time" });

const usageSchema = Type.Object(
  {
    from: moment,
    to: moment,
    by: Type.Enum(["hour", "day"]),
    as_of: Type.String({
      format: "date-time",
      description:
        "All searches that finished before this time are counted. It is the current time, or a few minutes earlier for a very busy wallet. A period that ends later is not complete.",
    }),
    at_least: Type.Boolean({
      description:
        "There can be more replays and refusals than reported, because a server crashed in this period or had too many different ones to count. Searches are exact.",
    }),
    currency: Type.Literal("usd"),
    usage: Type.Array(
      Type.Object(
        {
          start: Type.String({ format: "date-time", description: "Start of the hour or day, in UTC." }),
          mode: Type.Enum(["live", "test"]),
          key_id: Type.Optional(Type.String({ format: "uuid" })),
          category: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          outcome: Type.Optional(
            Type.String({
              description:
                "`ok`, or the problem code of the failure or refusal. `expired`, `caller_left` and `released`: ended without a response and was not charged. `replayed`: answered from its `Idempotency-Key` and was not charged again.",
            }),
          ),
          end_user: Type.Optional(
            Type.String({ description: "A hash that starts with `~`, or the id if the wallet stores plain ids." }),
          ),
          searches: Type.Integer({
            minimum: 0,
            description: "Requests whose price was held, whether they succeeded or failed.",
          }),
          replays: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: "Requests answered from their `Idempotency-Key`. Not by end user.",
            }),
          ),
          refusals: Type.Optional(
            Type.Integer({
              minimum: 0,
              description: "Requests rejected before their price was held. Not by end user.",
            }),
          ),
          charged: Type.String({ description: "Amount in USD as a decimal string.", pattern: "^\\d+\\.\\d{2,6}$" }),
        },
        { title: "UsagePeriod" },
      ),
    ),
    next_cursor: nextCursor,
  },
  { title: "UsageReport" },
);

export function usageRoutes(dependencies: UsageRouteDependencies): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/usage",
      scope: "wallet:read",
      operationId: "getUsage",
      tag: "Usage",
      summary: "Get usage",
      description:
        "Returns the number of searches, replays and refusals and the amount charged per hour or day (UTC), oldest first, split by mode and by the fields in `group`. Periods without requests are omitted. By end user, only searches with `Search-For` are counted, for the last 90 days (7 in test mode). Queries are not included.",
      query: {
        from: Type.String({
          description: "Start day or time, rounded down to the hour or day. Default: 30 days before `to`.",
        }),
        to: Type.String({ description: "End day or time, exclusive, rounded up to the hour or day. Default: now." }),
        by: Type.Enum(["hour", "day"], {
          default: "day",
          description: "Period length. The range is limited to 31 days by hour and 366 days by day.",
        }),
        group: Type.String({
          description: "Comma-separated list of `key`, `category` and `outcome`, or `end_user` alone and by day.",
          examples: ["key,outcome"],
        }),
        for: Type.String({
          description:
            "Only searches for this end user: the id that you sent in `Search-For`, or an `end_user` of a response. By day, without another `group`.",
        }),
        cursor: pageParameters.cursor,
        limit: Type.Integer({
          minimum: 1,
          maximum: 2_000,
          default: 1_000,
          description: "Maximum number of items per page.",
        }),
      },
      answer: usageSchema,
      problems: ["invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const caller = await dependencies.guard(request, reply, "wallet:read");
        const { walletId } = caller;
        const { endUser, ...query } = readUsageQuery(request.query, Date.now());
        const endUsers =
          endUser === undefined ? undefined : await findStoredEndUser(dependencies.dataKeys, caller, endUser);
        const { asOf, isAtLeast, lines } = await readUsage(dependencies.tenant, walletId, {
          ...query,
          endUsers,
          limit: query.limit + 1,
        }).catch(unavailable);
        const page = paginate(lines, query.limit, (last) => toCursor(positionOf(last)));
        return {
          from: query.from.toISOString(),
          to: query.to.toISOString(),
          by: query.by,
          as_of: asOf.toISOString(),
          at_least: isAtLeast,
          currency: "usd",
          usage: page.rows.map(serializeLine),
          next_cursor: page.nextCursor,
        };
      },
    },
  ];
}

function serializeLine({ charged, ...line }: UsageLine) {
  return {
    ...line,
    ...(line.category !== undefined && { category: line.category === "" ? null : line.category }),
    charged: formatUsd(charged),
  };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const maxRange = { hour: { ms: 31 * dayMs, name: "31 days" }, day: { ms: 366 * dayMs, name: "366 days" } };

function readUsageQuery(
  query: unknown,
  nowMs: number,
): Omit<UsageQuery, "endUsers"> & { endUser?: string | undefined } {
  const {
    by = "day",
    limit,
    ...given
  } = readQuery(query, {
    from: dayOrTime,
    to: dayOrTime,
    by: oneOf(["hour", "day"]),
    group: readGroups,
    for: readEndUserParameter,
    cursor: anyText,
    limit: pageSize({ default: 1_000, max: 2_000 }),
  });
  const periodMs = by === "hour" ? hourMs : dayMs;
  const toMs = Math.ceil((given.to?.getTime() ?? nowMs) / periodMs) * periodMs;
  const fromMs = given.from?.getTime() ?? toMs - 30 * dayMs;
  const from = new Date(Math.max(0, Math.floor(fromMs / periodMs) * periodMs));
  const to = new Date(toMs);
  if (from >= to) throw invalidParameter("from", "must be before `to`");
  if (toMs - from.getTime() > maxRange[by].ms) {
    throw invalidParameter("from", `must be at most ${maxRange[by].name} before \`to\` when counting by ${by}`);
  }
  const { group: groups, for: endUser } = given;
  const isByEndUser = endUser !== undefined || groups.includes("end_user");
  if (isByEndUser && groups.some((group) => group !== "end_user"))
    throw invalidParameter("group", "must be only `end_user` when counting by end user");
  if (isByEndUser && by !== "day") throw invalidParameter("by", "must be `day` when counting by end user");
  return { by, from, to, groups, endUser, after: readUsageCursor(given.cursor, groups), limit };
}

function readGroups(text: string | undefined): UsageGroup[] {
  if (text === undefined) return [];
  const names = text.split(",");
  const groups = usageGroups.filter((group) => names.includes(group));
  if (groups.length !== names.length) {
    const unknown = names.find((name) => !(usageGroups as readonly string[]).includes(name));
    const meant = unknown === undefined ? undefined : suggest(unknown, usageGroups);
    const hint = meant === undefined ? "" : ` ${didYouMean(meant)}`;
    const rule = `must be a comma-separated list of ${listWords(usageGroups, "and")}, each at most once`;
    throw new InvalidValue(rule + hint);
  }
  return groups;
}

function toCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

const isValidPart: Record<UsageGroup | "start" | "mode", (part: string) => boolean> = {
  start: (part) => /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/.test(part) && !Number.isNaN(Date.parse(part)),
  mode: (part) => part === "live" || part === "test",
  key: isUuid,
  category: (part) => /^[a-z_]{0,64}$/.test(part),
  outcome: (part) => /^[a-z_]{1,64}$/.test(part),
  end_user: isEndUser,
};

function readUsageCursor(cursor: string | undefined, groups: readonly UsageGroup[]): string[] | undefined {
  if (cursor === undefined) return undefined;
  const position = parsePosition(Buffer.from(cursor, "base64url").toString());
  const names = ["start", "mode", ...groups] as const;
  const isOurs =
    position?.length === names.length && names.every((name, index) => isValidPart[name](position[index] ?? ""));
  if (!position || !isOurs)
    throw invalidParameter("cursor", "must be the `next_cursor` of a page with the same `group`");
  return position;
}

function parsePosition(text: string): string[] | undefined {
  try {
    const position: unknown = JSON.parse(text);
    return Array.isArray(position) && position.every((part) => typeof part === "string") ? position : undefined;
  } catch {
    return undefined;
  }
}
