import type { HoldOutcome } from "../../src/wallet/statements.ts";
import type { ModelBudgetState, ModelHoldOutcome, Resets } from "./model-rows.ts";

/** Only the columns that belong to the outcome; the others are undefined. */
export function comparable(outcome: HoldOutcome | undefined): Record<string, unknown> {
  switch (outcome?.outcome) {
    case "insufficient_balance":
      return { outcome: outcome.outcome, balance: outcome.balance, owed: outcome.owed };
    case "held":
    case "balance_reserved":
      return { outcome: outcome.outcome, balance: outcome.balance };
    case "replayed":
      return { outcome: outcome.outcome, balance: outcome.balance, answer: outcome.answer.toString("hex") };
    case "key_budget_spent":
    case "run_budget_spent":
    case "end_user_budget_spent":
      return {
        outcome: outcome.outcome,
        limit: outcome.limit,
        spent: outcome.spent,
        resetsAt: outcome.resetsAt,
        budget: outcome.budget,
      };
    default:
      return { outcome: outcome?.outcome };
  }
}

export function withResetTimes(outcome: ModelHoldOutcome, calendar?: Record<Resets, Date | null>): object {
  return {
    ...withResetTime(outcome, calendar),
    budgets: outcome.budgets?.map((each) => withResetTime(each, calendar)),
  };
}

function withResetTime(
  { resets, ...rest }: ModelHoldOutcome | ModelBudgetState,
  calendar?: Record<Resets, Date | null>,
): object {
  return resets === undefined ? rest : { ...rest, resetsAt: calendar?.[resets] };
}
