import assert from "node:assert/strict";
import { test } from "node:test";
import { readBudget } from "./budget.ts";

const line = (limit: string, spent: string) => ({ limit, spent, resets_at: null });

test("a budget is spent as soon as it does not cover another search", () => {
  const budget = { total: line("5.00", "4.99"), day: line("1.00", "0.995"), month: null };
  const facts = readBudget({ budget, budgets: [] }, "0.01");
  assert.deepEqual(
    facts.map(({ period, isSpent }) => [period, isSpent]),
    [
      ["day", true],
      ["total", false],
    ],
  );
  assert.deepEqual(readBudget({ budget: null, budgets: [] }, "0.01"), []);
});

test("a key lists its shared budgets, without those per end user, which have no spending", () => {
  const shared = { period: "week" as const, limit: "1.00", resets_at: null };
  const budgets = [
    { ...shared, id: "a", name: "Team", per: "wallet" as const, spent: "1.00" },
    { ...shared, id: "b", name: "Chat", per: "end_user" as const, spent: null },
  ];
  const budget = { total: null, day: line("1.00", "0.10"), month: null };
  assert.deepEqual(
    readBudget({ budget, budgets }, "0.01").map(({ id, name, isSpent }) => [id, name, isSpent]),
    [
      ["a", "Team", true],
      ["day", undefined, false],
    ],
  );
});
