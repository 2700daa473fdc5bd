import assert from "node:assert/strict";
import { test } from "node:test";
import { readBudget } from "./budget.ts";

const line = (limit: string, spent: string) => ({ limit, spent, resets_at: null });

test("a budget is spent as soon as it does not cover another search", () => {
  const budget = { total: line("5.00", "4.99"), day: line("1.00", "0.995"), month: null };
  const facts = readBudget({ budget }, "0.01");
  assert.deepEqual(
    facts.map(({ period, isSpent }) => [period, isSpent]),
    [
      ["day", true],
      ["total", false],
    ],
  );
  assert.deepEqual(readBudget({ budget: null }, "0.01"), []);
});
