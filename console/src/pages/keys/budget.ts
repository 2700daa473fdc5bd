import type { Key, KeyBudgetPeriod } from "@pennyblack/sdk";
import type { BudgetPeriod } from "../../api/keys.ts";
import { isLessThan, subtract } from "../../format/amounts.ts";

export interface BudgetStatus extends KeyBudgetPeriod {
  period: BudgetPeriod;
  /** Less than the price of a search is left. */
  isSpent: boolean;
}

const periods = ["day", "month", "total"] as const;

/** The key's limits, spent ones first. */
export function readBudget(key: Pick<Key, "budget">, price: string): BudgetStatus[] {
  return periods
    .flatMap((period) => {
      const line = key.budget?.[period];
      return line ? [{ ...line, period, isSpent: isLessThan(subtract(line.limit, line.spent), price) }] : [];
    })
    .toSorted((first, second) => Number(second.isSpent) - Number(first.isSpent));
}
