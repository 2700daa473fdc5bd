import { Type } from "typebox";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { KeyWithBudget } from "./own-keys.ts";

// A key as callers see it. The key itself is in the answer that made it, and in no other.

const moment = (description: string) =>
  Type.Union([Type.String({ format: "date-time" }), Type.Null()], { description });
const usd = Type.String({ pattern: "^\\d+\\.\\d{2,6}$" });

const spentSchema = (resetsAt: string) =>
  Type.Union([Type.Object({ limit: usd, spent: usd, resets_at: moment(resetsAt) }), Type.Null()]);

const keyFields = {
  id: Type.String({ format: "uuid" }),
  mode: Type.Enum(["live", "test", "mgmt"]),
  name: Type.String(),
  start: Type.String({ description: "Its first characters, to recognise it by." }),
  state: Type.Enum(["active", "expired", "revoked"]),
  scopes: Type.Array(Type.String()),
  allowed_ips: Type.Union([Type.Array(Type.String()), Type.Null()], { description: "Null: from anywhere." }),
  searches_per_second: Type.Integer(),
  searches_in_flight: Type.Integer(),
  budget: Type.Union(
    [
      Type.Object({
        total: spentSchema("Always null: a total does not reset."),
        day: spentSchema("The next midnight, UTC."),
        month: spentSchema("The first of the next month, UTC."),
      }),
      Type.Null(),
    ],
    { description: "What it may spend and has spent, in USD. Searches in flight count as spent." },
  ),
  expires_at: moment("Null: never."),
  revoked_at: moment("Null: not revoked."),
  revoked_reason: Type.Union([Type.Enum(["owner", "operator", "leaked", "account_deleted"]), Type.Null()]),
  rotated_from: Type.Union([Type.String({ format: "uuid" }), Type.Null()], {
    description: "The key that it took the place of.",
  }),
  last_used_at: moment("About when: it may be a minute late. Null: not yet."),
  created_at: Type.String({ format: "date-time" }),
};

export const keySchema = Type.Object(keyFields, { title: "Key" });

export const madeKeySchema = Type.Object(
  { ...keyFields, key: Type.String({ description: "The key itself. It is shown this once." }) },
  { title: "MadeKey" },
);

export const keysSchema = Type.Object(
  {
    keys: Type.Array(keySchema),
    next_cursor: Type.Union([Type.String(), Type.Null()], { description: "Send it as `cursor` for the next page." }),
  },
  { title: "Keys" },
);

export function showKey(key: KeyWithBudget) {
  const { budget } = key;
  return {
    id: key.id,
    mode: key.mode,
    name: key.name,
    start: key.start,
    state: key.state,
    scopes: key.scopes,
    allowed_ips: key.allowedIps,
    searches_per_second: key.searchesPerSecond,
    searches_in_flight: key.searchesInFlight,
    budget: budget
      ? {
          total: showSpent(budget.totalLimit, budget.totalSpent, null),
          day: showSpent(budget.dayLimit, budget.daySpent, budget.dayResetsAt),
          month: showSpent(budget.monthLimit, budget.monthSpent, budget.monthResetsAt),
        }
      : null,
    expires_at: showMoment(key.expiresAt),
    revoked_at: showMoment(key.revokedAt),
    revoked_reason: key.revokedReason,
    rotated_from: key.rotatedFrom,
    last_used_at: showMoment(key.lastUsedAt),
    created_at: showMoment(key.createdAt),
  };
}

function showSpent(limit: Micros | null, spent: Micros, resetsAt: Date | null) {
  if (limit === null) return null;
  return { limit: formatUsd(limit), spent: formatUsd(spent), resets_at: showMoment(resetsAt) };
}

function showMoment(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
