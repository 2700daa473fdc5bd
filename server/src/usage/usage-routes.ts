import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { cutPage } from "../http/cut-page.ts";
import { invalidParameter, isUuid, readLimit, readMoment, readParameters } from "../http/query-parameters.ts";
import { managementProblems, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Enter } from "../keys/keys.ts";
import { formatUsd } from "../lib/money.ts";
import { placeOf, readUsage, type UsageGroup, type UsageLine, type UsageWanted, usageGroups } from "./read-usage.ts";

export interface UsageRouteParts {
  tenant: Pool;
  enter: Enter;
}

const moment = Type.String({ format: "date-time" });

const usageSchema = Type.Object(
  {
    from: moment,
    to: moment,
    by: Type.Enum(["hour", "day"]),
    as_of: Type.String({
      format: "date-time",
      description: "Every search accepted before this moment is counted: a few minutes ago.",
    }),
    currency: Type.Literal("usd"),
    usage: Type.Array(
      Type.Object({
        start: Type.String({ format: "date-time", description: "When the hour or day begins, in UTC." }),
        mode: Type.Enum(["live", "test"]),
        key_id: Type.Optional(Type.String({ format: "uuid" })),
        category: Type.Optional(Type.Union([Type.String(), Type.Null()])),
        outcome: Type.Optional(
          Type.String({
            description:
              "`ok`; the problem code of a failure; `expired`, `caller_left` or `released`: it ended without an answer and was not charged; `replayed`: an answer that was paid for before.",
          }),
        ),
        searches: Type.Integer({ minimum: 0 }),
        charged: Type.String({ description: "In USD as a decimal string.", pattern: "^\\d+\\.\\d{2,6}$" }),
      }),
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "Usage" },
);

export function usageRoutes(parts: UsageRouteParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/usage",
      scope: "wallet:read",
      summary: "Count searches and what they cost",
      description:
        "Searches by hour or day (UTC), oldest first, apart by mode and by what `group` names. Hours and days without a search have no line. Refused requests with a good key count too, with a charge of 0.00; they are counted by the servers, and one that dies forgets its last few seconds. Never the query.",
      query: {
        from: Type.String({ description: "A day or moment; begins the hour or day it lies in. 30 days before `to`." }),
        to: Type.String({ description: "A day or moment, not included; ends the hour or day it lies in. Now." }),
        by: Type.Enum(["hour", "day"], { default: "day", description: "By hour at most 31 days, by day 366." }),
        group: Type.String({
          description: "Any of key, category, outcome, apart by commas.",
          examples: ["key,outcome"],
        }),
        cursor: Type.String({ description: "From `next_cursor` of the page before; keep the other parameters." }),
        limit: Type.Integer({ minimum: 1, maximum: 2_000, default: 1_000 }),
      },
      answer: usageSchema,
      problems: ["invalid_request", ...managementProblems],
      handle: async (request, reply) => {
        const { walletId } = await parts.enter(request, reply, "wallet:read");
        const wanted = readUsageQuery(request.query, Date.now());
        // One more than asked for tells whether there is a next page.
        const { asOf, lines } = await readUsage(parts.tenant, walletId, { ...wanted, most: wanted.most + 1 }).catch(
          unavailable,
        );
        const { rows, nextCursor } = cutPage(lines, wanted.most, (last) => toCursor(placeOf(last)));
        return {
          from: wanted.from.toISOString(),
          to: wanted.to.toISOString(),
          by: wanted.by,
          as_of: asOf.toISOString(),
          currency: "usd",
          usage: rows.map(showLine),
          next_cursor: nextCursor,
        };
      },
    },
  ];
}

function showLine({ charged, searches, ...line }: UsageLine) {
  return {
    ...line,
    ...(line.category !== undefined && { category: line.category === "" ? null : line.category }),
    searches: Number(searches),
    charged: formatUsd(charged),
  };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const longest = { hour: { ms: 31 * dayMs, name: "31 days" }, day: { ms: 366 * dayMs, name: "366 days" } };

function readUsageQuery(query: unknown, nowMs: number): UsageWanted {
  const given = readParameters(query, ["from", "to", "by", "group", "cursor", "limit"]);
  const by = given.by ?? "day";
  if (by !== "hour" && by !== "day") throw invalidParameter("by", "must be hour or day");
  const stretchMs = by === "hour" ? hourMs : dayMs;
  const toMs = Math.ceil((readMoment("to", given.to)?.getTime() ?? nowMs) / stretchMs) * stretchMs;
  const fromMs = readMoment("from", given.from)?.getTime() ?? toMs - 30 * dayMs;
  const from = new Date(Math.max(0, Math.floor(fromMs / stretchMs) * stretchMs));
  const to = new Date(toMs);
  if (from >= to) throw invalidParameter("from", "must be before to");
  if (toMs - from.getTime() > longest[by].ms) {
    throw invalidParameter("from", `must be at most ${longest[by].name} before to when counting by ${by}`);
  }
  const groups = readGroups(given.group);
  const most = readLimit(given.limit, { usual: 1_000, most: 2_000 });
  return { by, from, to, groups, after: readUsageCursor(given.cursor, groups), most };
}

function readGroups(text: string | undefined): UsageGroup[] {
  if (text === undefined) return [];
  const words = text.split(",");
  const groups = usageGroups.filter((group) => words.includes(group));
  if (groups.length !== words.length) {
    throw invalidParameter("group", "must be any of key, category, outcome, each once, apart by commas");
  }
  return groups;
}

function toCursor(place: readonly string[]): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

const placeParts: Record<UsageGroup | "start" | "mode", (part: string) => boolean> = {
  start: (part) => /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/.test(part) && !Number.isNaN(Date.parse(part)),
  mode: (part) => part === "live" || part === "test",
  key: isUuid,
  category: (part) => /^[a-z_]{0,64}$/.test(part),
  outcome: (part) => /^[a-z_]{1,64}$/.test(part),
};

function readUsageCursor(cursor: string | undefined, groups: readonly UsageGroup[]): string[] | undefined {
  if (cursor === undefined) return undefined;
  const place = parsePlace(Buffer.from(cursor, "base64url").toString());
  const names = ["start", "mode", ...groups] as const;
  const isOurs = place?.length === names.length && names.every((name, index) => placeParts[name](place[index] ?? ""));
  if (!place || !isOurs) throw invalidParameter("cursor", "must be a next_cursor of ours, with the same group");
  return place;
}

function parsePlace(text: string): string[] | undefined {
  try {
    const place: unknown = JSON.parse(text);
    return Array.isArray(place) && place.every((part) => typeof part === "string") ? place : undefined;
  } catch {
    return undefined;
  }
}
