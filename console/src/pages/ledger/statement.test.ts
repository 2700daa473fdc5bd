import assert from "node:assert/strict";
import { test } from "node:test";
import { computeTotals, isBalanced } from "./statement.ts";

const entries = [
  { amount: "-0.01", balance: "4.98" },
  { amount: "-0.01", balance: "4.99" },
  { amount: "5.00", balance: "5.00" },
];

test("the opening balance plus the entries equals the closing balance", () => {
  const totals = computeTotals(entries.slice(0, 2));
  assert.deepEqual(totals, { in: "0.00", out: "-0.02", sum: "-0.02", opening: "5.00", closing: "4.98" });
  assert.equal(isBalanced(totals), true);
  assert.equal(computeTotals(entries).opening, "0.00");
});

test("detects a missing entry", () => {
  const [first, , last] = entries;
  assert.equal(isBalanced(computeTotals([first, last].filter((line) => line !== undefined))), false);
});

test("a filtered list has totals but no balances", () => {
  const totals = computeTotals([{ amount: "5.00" }, { amount: "10.00" }]);
  assert.deepEqual(totals, { in: "15.00", out: "0.00", sum: "15.00", opening: undefined, closing: undefined });
  assert.equal(isBalanced(totals), true);
});
