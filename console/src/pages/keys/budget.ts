import type { BudgetLine, BudgetTerm, Key } from "../../api/keys.ts";
import { isLess, subtract } from "../../words/amounts.ts";

export interface BudgetFact extends BudgetLine {
  term: BudgetTerm;
  /** Not even one more search fits. */
  isSpent: boolean;
}

const terms = ["day", "month", "total"] as const;

/** The limits that the key has, those that refuse searches first. */
export function readBudget(key: Pick<Key, "budget">, price: string): BudgetFact[] {
  return terms
    .flatMap((term) => {
      const line = key.budget?.[term];
      return line ? [{ ...line, term, isSpent: isLess(subtract(line.limit, line.spent), price) }] : [];
    })
    .toSorted((one, other) => Number(other.isSpent) - Number(one.isSpent));
}
