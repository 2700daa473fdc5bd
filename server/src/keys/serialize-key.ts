import { Type } from "typebox";
import { externalId } from "../http/input/external-id.ts";
import { nextCursor } from "../http/route.ts";
import { formatUsd, type Micros } from "../lib/money.ts";
import type { KeyBudget } from "../wallet/wallet.ts";
import { compatSchema } from "./compat.ts";
import type { KeyWithBudget } from "./manage-keys.ts";
import { maxRunSchema } from "./max-run.ts";
import { budgetOfKeySchema, creatorSchema, serializeBudgetOfKey, timeOrNull, usd } from "./serialize-budget.ts";
import { sourcesSchema } from "./source-policy.ts";

// Keys in API responses. Only the response that creates a key contains the key itself.

const periodSchema = (description: string) =>
  Type.Union(
    [
      Type.Object(
        { limit: usd, spent: usd, resets_at: timeOrNull("Null if it does not reset.") },
        { title: "KeyBudgetPeriod" },
      ),
      Type.Null(),
    ],
    { description },
  );

export const keySchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    mode: Type.Enum(["live", "test", "mgmt"], { title: "KeyMode" }),
    name: Type.String(),
    start: Type.String({
      description:
        "The first characters of the key, to recognize it by. `oauth` for a connected app, which has no secret.",
    }),
    state: Type.Enum(["active", "expired", "revoked"]),
    scopes: Type.Array(Type.String()),
    allowed_ips: Type.Union([Type.Array(Type.String()), Type.Null()], { description: "Null for any address." }),
    searches_per_second: Type.Integer(),
    searches_in_flight: Type.Integer(),
    budget: Type.Union(
      [
        Type.Object(
          {
            total: periodSchema("In total. It does not reset."),
            day: periodSchema("Per day. It resets at midnight UTC."),
            month: periodSchema("Per month. It resets on the first day of the month, UTC."),
          },
          { title: "KeyBudget" },
        ),
        Type.Null(),
      ],
      {
        description: "Spending limits in USD. Searches in flight count as spent. Null without a budget.",
      },
    ),
    end_user_limit: Type.Union(
      [Type.Object({ amount: usd, period: Type.Enum(["day", "month"]) }, { title: "KeyEndUserLimit" }), Type.Null()],
      { description: "Maximum amount that each end user can spend with this key. Null without a limit." },
    ),
    budgets: Type.Array(budgetOfKeySchema, {
      description: "The shared budgets that searches of this key also spend from, in the order in which they refuse.",
    }),
    compat: Type.Union([compatSchema, Type.Null()], { description: "Null without settings." }),
    external_id: externalId("keys of a mode that are not revoked"),
    sources: Type.Union([sourcesSchema, Type.Null()], { description: "Null if results of every domain are returned." }),
    max_run: Type.Union([maxRunSchema, Type.Null()], { description: "Null if searches can name any run, or none." }),
    expires_at: timeOrNull("Null for no expiry."),
    revoked_at: timeOrNull("Null if not revoked."),
    revoked_reason: Type.Union([Type.Enum(["owner", "operator", "leaked", "account_deleted"]), Type.Null()]),
    rotated_from: Type.Union([Type.String({ format: "uuid" }), Type.Null()], {
      description: "The id of the key that this one replaced.",
    }),
    last_used_at: timeOrNull("Up to a minute old. Null if never used."),
    created_at: Type.String({ format: "date-time" }),
    created_by: Type.Union([creatorSchema, Type.Null()], {
      description:
        "The person or key that created, rotated or connected the key. Null for the first keys of an account, and in `GET /v1/key`, which works with every key.",
    }),
  },
  { title: "Key" },
);

/** The limits that a wallet's keys of one mode share. */
export interface SharedLimits {
  searchesPerSecond: number;
  searchesInFlight: number;
}

export const currentKeySchema = Type.Intersect(
  [
    keySchema,
    Type.Object({
      effective_limits: Type.Union(
        [
          Type.Object(
            { searches_per_second: Type.Integer(), searches_in_flight: Type.Integer() },
            { title: "EffectiveLimits" },
          ),
          Type.Null(),
        ],
        {
          description:
            "The lower of the key's limits and the limits that the wallet's live or test keys share. Null for a management key, which cannot search.",
        },
      ),
    }),
  ],
  { title: "CurrentKey" },
);

export function serializeCurrentKey(key: KeyWithBudget, shared: Record<"live" | "test", SharedLimits>) {
  const { mode, searchesPerSecond, searchesInFlight } = key;
  const limits = mode === "mgmt" ? undefined : shared[mode];
  return {
    ...serializeKey(key),
    // The holder of a search key need not know the address of who created it.
    created_by: null,
    effective_limits: limits
      ? {
          searches_per_second: Math.min(searchesPerSecond, limits.searchesPerSecond),
          searches_in_flight: Math.min(searchesInFlight, limits.searchesInFlight),
        }
      : null,
  };
}

export const createdKeySchema = Type.Intersect(
  [keySchema, Type.Object({ key: Type.String({ description: "The key itself. It is returned only once." }) })],
  { title: "CreatedKey" },
);

export const keysSchema = Type.Object(
  {
    keys: Type.Array(keySchema),
    next_cursor: nextCursor,
  },
  { title: "KeyList" },
);

export function serializeKey(key: KeyWithBudget) {
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
    budget: hasLimits(budget)
      ? {
          total: serializeLimit(budget.totalLimit, budget.totalSpent, null),
          day: serializeLimit(budget.dayLimit, budget.daySpent, budget.dayResetsAt),
          month: serializeLimit(budget.monthLimit, budget.monthSpent, budget.monthResetsAt),
        }
      : null,
    end_user_limit: serializeEndUserLimit(budget),
    budgets: key.sharedBudgets.map(serializeBudgetOfKey),
    compat: key.compat,
    external_id: key.externalId,
    sources: key.sources,
    max_run: key.maxRun,
    expires_at: formatTime(key.expiresAt),
    revoked_at: formatTime(key.revokedAt),
    revoked_reason: key.revokedReason,
    rotated_from: key.rotatedFrom,
    last_used_at: formatTime(key.lastUsedAt),
    created_at: formatTime(key.createdAt),
    created_by: key.createdBy,
  };
}

/** A budget can have only a limit per end user. */
function hasLimits(budget: KeyBudget | undefined): budget is KeyBudget {
  return (
    budget !== undefined && [budget.totalLimit, budget.dayLimit, budget.monthLimit].some((limit) => limit !== null)
  );
}

function serializeEndUserLimit(budget: KeyBudget | undefined) {
  const { endUserLimit: amount = null, endUserPeriod: period } = budget ?? {};
  return amount === null ? null : { amount: formatUsd(amount), period };
}

function serializeLimit(limit: Micros | null, spent: Micros, resetsAt: Date | null) {
  if (limit === null) return null;
  return { limit: formatUsd(limit), spent: formatUsd(spent), resets_at: formatTime(resetsAt) };
}

function formatTime(at: Date | null): string | null {
  return at?.toISOString() ?? null;
}
