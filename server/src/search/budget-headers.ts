import { formatUsd, type Micros } from "../lib/money.ts";
import type { BudgetState } from "../wallet/wallet.ts";

/**
 * `Search-Run: nightly; spent=0.02; left=0.48`, `Key-Budget: day; spent=0.02; left=0.98; resets=41213, total; ...` and
 * `End-User-Budget: spent=0.02; left=0.08; resets=41213`. `charge` is the amount that this search adds to the amounts of its hold,
 * which is its price after a 200, and 0 otherwise.
 */
export function formatBudgetHeaders(
  budgets: readonly BudgetState[],
  { run, charge, now }: { run: string | undefined; charge: Micros; now: number },
): Record<string, string> {
  const ofRun = budgets.find(({ limit }) => limit === "run");
  // Of several budgets, the one with the least left.
  const ofEndUser = budgets
    .filter(({ limit }) => limit === "end_user")
    .reduce<BudgetState | undefined>(
      (least, each) => (least && leftOf(least) <= leftOf(each) ? least : each),
      undefined,
    );
  const ofKey = budgets.filter(({ limit }) => limit !== "run" && limit !== "end_user");
  return {
    ...(run !== undefined && ofRun && { "search-run": `${run}; ${formatAmounts(ofRun, charge)}` }),
    ...(ofKey.length > 0 && { "key-budget": ofKey.map((budget) => formatKeyBudget(budget, charge, now)).join(", ") }),
    ...(ofEndUser && { "end-user-budget": `${formatAmounts(ofEndUser, charge)}${formatReset(ofEndUser, now)}` }),
  };
}

function formatKeyBudget(budget: BudgetState, charge: Micros, now: number): string {
  const shared = budget.budgetId === undefined ? "" : `; budget=${budget.budgetId}`;
  return `${budget.limit}; ${formatAmounts(budget, charge)}${formatReset(budget, now)}${shared}`;
}

function leftOf({ max, spent }: BudgetState): Micros {
  return max - spent;
}

function formatReset({ resetsAt }: BudgetState, now: number): string {
  return resetsAt ? `; resets=${Math.max(0, Math.ceil((resetsAt.getTime() - now) / 1_000))}` : "";
}

/** An owner can lower a limit below the amount spent. */
function formatAmounts({ max, spent: spentBefore }: BudgetState, charge: Micros): string {
  const spent = spentBefore + charge;
  return `spent=${formatUsd(spent)}; left=${formatUsd(max > spent ? max - spent : 0n)}`;
}
