import type { Budget, Pennyblack } from "@pennyblack/sdk";
import { sanitize, table } from "./terminal.ts";

/** The shared budget with this id or exact name. Archived budgets are not listed, so their names can be used again. */
export async function findBudget(client: Pennyblack, idOrName: string): Promise<Budget> {
  return selectBudget(await listBudgets(client), idOrName);
}

/** The ids of budgets given by id or name, for the setting of a key. "none" removes all. */
export async function findBudgetIds(client: Pennyblack, names: readonly string[]): Promise<string[]> {
  if (names.includes("none")) return [];
  const budgets = await listBudgets(client);
  return names.map((name) => selectBudget(budgets, name).id);
}

export function listBudgets(client: Pennyblack): Promise<Budget[]> {
  return Array.fromAsync(client.budgets.list());
}

function selectBudget(budgets: readonly Budget[], idOrName: string): Budget {
  const byId = budgets.find(({ id }) => id === idOrName.toLowerCase());
  if (byId) return byId;
  const [match, ...others] = budgets.filter(({ name }) => name === idOrName);
  if (match === undefined) {
    throw new Error(
      `No shared budget has the id or name "${sanitize(idOrName)}". No changes were made. See: pennyblack budgets list`,
    );
  }
  if (others.length === 0) return match;
  const rows = [match, ...others].map(({ id, mode, period, amount }) => [`  ${id}`, mode, period, `${amount} USD`]);
  throw new Error(
    `${rows.length} shared budgets have the name "${sanitize(idOrName)}". No changes were made. Use an id:\n${table(rows)}`,
  );
}
