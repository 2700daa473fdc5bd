import { Type } from "typebox";
import { externalId } from "../http/input/external-id.ts";
import { nextCursor } from "../http/route.ts";
import { formatUsd } from "../lib/money.ts";
import { type BudgetOfKey, limitOf, type SharedBudget } from "../wallet/wallet.ts";

// Shared budgets in API responses.

export const usd = Type.String({ pattern: "^\\d+\\.\\d{2,6}$" });

export const timeOrNull = (description: string) =>
  Type.Union([Type.String({ format: "date-time" }), Type.Null()], { description });

export const creatorSchema = Type.Object(
  {
    type: Type.Enum(["person", "key", "operator"]),
    id: Type.Union([Type.String({ format: "uuid" }), Type.Null()]),
    name: Type.Union([Type.String(), Type.Null()], {
      description: "The email address of the person, or the current name of the key.",
    }),
  },
  { title: "KeyCreator" },
);

const period = Type.Enum(["total", "day", "week", "month"]);
const per = Type.Enum(["wallet", "end_user"]);
const resetsAt = timeOrNull("When the current period ends. Null if it does not.");

export const budgetSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    mode: Type.Enum(["live", "test"]),
    name: Type.String(),
    amount: usd,
    period,
    per,
    increase: Type.Union(
      [
        Type.Object({ amount: usd, ends_at: Type.String({ format: "date-time" }) }, { title: "BudgetIncrease" }),
        Type.Null(),
      ],
      {
        description:
          "A temporary increase, which a person has approved. Until `ends_at`, each period has `amount` more. Null if there is none.",
      },
    ),
    alerts: Type.Array(Type.Integer(), { description: "Percentages of the amount at which you are warned." }),
    external_id: externalId("budgets of a mode that are not archived"),
    spent: Type.Union([usd, Type.Null()], {
      description: "Spent in the current period, including searches in flight. Null for a budget per end user.",
    }),
    resets_at: resetsAt,
    archived_at: timeOrNull("Null if not archived."),
    created_at: Type.String({ format: "date-time" }),
    created_by: Type.Union([creatorSchema, Type.Null()]),
  },
  { title: "Budget" },
);

export const budgetsSchema = Type.Object(
  { budgets: Type.Array(budgetSchema), next_cursor: nextCursor },
  { title: "BudgetList" },
);

export function serializeBudget(budget: SharedBudget) {
  return {
    id: budget.id,
    mode: budget.mode,
    name: budget.name,
    amount: formatUsd(budget.amount),
    period: budget.period,
    per: budget.isPerEndUser ? "end_user" : "wallet",
    increase: budget.raise && { amount: formatUsd(budget.raise.amount), ends_at: budget.raise.endsAt.toISOString() },
    alerts: budget.alerts,
    external_id: budget.externalId,
    spent: budget.spent === null ? null : formatUsd(budget.spent),
    resets_at: budget.resetsAt?.toISOString() ?? null,
    archived_at: budget.archivedAt?.toISOString() ?? null,
    created_at: budget.createdAt.toISOString(),
    created_by: budget.createdBy,
  };
}

export const budgetOfKeySchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    name: Type.String(),
    period,
    per,
    limit: { ...usd, description: "The amount, and its temporary increase." },
    spent: Type.Union([usd, Type.Null()], { description: "By all of its keys. Null for a budget per end user." }),
    resets_at: resetsAt,
  },
  { title: "BudgetOfKey" },
);

export function serializeBudgetOfKey(budget: BudgetOfKey) {
  return {
    id: budget.id,
    name: budget.name,
    period: budget.period,
    per: budget.isPerEndUser ? "end_user" : "wallet",
    limit: formatUsd(limitOf(budget)),
    spent: budget.spent === null ? null : formatUsd(budget.spent),
    resets_at: budget.resetsAt?.toISOString() ?? null,
  };
}
