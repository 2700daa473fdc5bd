import assert from "node:assert/strict";
import { test } from "node:test";
import { readBudget } from "./budget.ts";

const line = (limit: string, spent: string) => ({ limit, spent, resets_at: null });

test("a budget is spent when no further search fits, not only when it is used up to the cent", () => {
  const budget = { total: line("5.00", "4.99"), day: line("1.00", "0.995"), month: null };
  const facts = readBudget({ budget }, "0.01");
  assert.deepEqual(
    facts.map(({ term, isSpent }) => [term, isSpent]),
    [
      ["day", true],
      ["total", false],
    ],
  );
  assert.deepEqual(readBudget({ budget: null }, "0.01"), []);
});
