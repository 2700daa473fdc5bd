import type { UpdateBudgetRequest } from "@pennyblack/sdk";
import { type ApplyFile, type FileBudget, identify } from "./apply-file.ts";
import type { Change, Wallet } from "./change.ts";
import { findDifferences } from "./differences.ts";
import { findById } from "./find-by-id.ts";

export function planBudgets({ budgets = [] }: ApplyFile, wallet: Wallet): Change[] {
  return budgets.flatMap((budget, index) => planBudget(budget, wallet, `budgets[${index}]`));
}

function planBudget(budget: FileBudget, wallet: Wallet, path: string): Change[] {
  const { external_id: id, mode } = budget;
  const existing = findById(wallet.budgets, budget);
  if (!existing) {
    const apply: Change["apply"] = async ({ client, budgetIds }) => {
      budgetIds.set(identify(budget), (await client.budgets.create(budget)).id);
    };
    return [{ section: "budgets", action: "create", id, mode, differences: [], apply }];
  }
  const desired = toDesiredBudget(budget);
  const differences = findDifferences(desired, existing);
  const fixed = differences.find(({ name }) => name === "period" || name === "per");
  if (fixed) throw new Error(`${path}.${fixed.name} cannot be changed. No changes were made. Use another external_id.`);
  if (differences.length === 0) return [];
  const changes: UpdateBudgetRequest = Object.fromEntries(
    differences.map(({ name }) => [name, desired[name as keyof typeof desired]]),
  );
  const apply: Change["apply"] = async ({ client }) => void (await client.budgets.update(existing.id, changes));
  return [{ section: "budgets", action: "update", id, mode, differences, apply }];
}

/** With the defaults of fields that the file omits. */
export function toDesiredBudget({ name, amount, period, per = "wallet", alerts }: FileBudget) {
  return { name, amount, period, per, alerts: alerts ?? (per === "end_user" ? [] : [80, 95]) };
}
