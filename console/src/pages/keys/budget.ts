import type { Budget, Key, KeyBudgetPeriod } from "@pennyblack/sdk";
import { isLessThan, subtract } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";

export interface BudgetStatus extends KeyBudgetPeriod {
  id: string;
  /** Undefined for a limit of the key itself. */
  name?: string;
  period: Budget["period"];
  /** Less than the price of a search is left. */
  isSpent: boolean;
}

const periods = ["day", "month", "total"] as const;

/** The key's limits and its shared budgets, spent ones first. */
export function readBudget({ budget, budgets }: Pick<Key, "budget" | "budgets">, price: string): BudgetStatus[] {
  const own = periods.flatMap((period) => {
    const line = budget?.[period];
    return line ? [{ ...line, id: period, period }] : [];
  });
  const shared = budgets.flatMap(({ spent, ...line }) => (spent === null ? [] : [{ ...line, spent }]));
  return [...own, ...shared]
    .map((line) => ({ ...line, isSpent: isBudgetSpent(line, price) }))
    .toSorted((first, second) => Number(second.isSpent) - Number(first.isSpent));
}

/** A budget refuses searches as soon as it does not cover another one. */
export function isBudgetSpent({ limit, spent }: { limit: string; spent: string }, price: string): boolean {
  return isLessThan(subtract(limit, spent), price);
}

/** "$50.00 per month, $12.00 spent", or "$0.50 per end user and day". */
export function describeBudget({ amount, period, per, spent }: Pick<Budget, "amount" | "period" | "per" | "spent">) {
  if (per === "end_user") return `${formatMoney(amount)} per end user and ${period}`;
  return `${formatMoney(amount)} ${period === "total" ? "in total" : `per ${period}`}, ${formatMoney(spent ?? "0.00")} spent`;
}
