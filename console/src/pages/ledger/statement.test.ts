import assert from "node:assert/strict";
import { test } from "node:test";
import { addUp, isBalanced } from "./statement.ts";

const lines = [
  { amount: "-0.01", balance: "4.98" },
  { amount: "-0.01", balance: "4.99" },
  { amount: "5.00", balance: "5.00" },
];

test("the opening balance and the lines make the closing balance", () => {
  const totals = addUp(lines.slice(0, 2));
  assert.deepEqual(totals, { in: "0.00", out: "-0.02", sum: "-0.02", opening: "5.00", closing: "4.98" });
  assert.equal(isBalanced(totals), true);
  assert.equal(addUp(lines).opening, "0.00");
});

test("a line that is missing is noticed", () => {
  const [first, , last] = lines;
  assert.equal(isBalanced(addUp([first, last].filter((line) => line !== undefined))), false);
});

test("a filtered list says what it comes to, and no balance", () => {
  const totals = addUp([{ amount: "5.00" }, { amount: "10.00" }]);
  assert.deepEqual(totals, { in: "15.00", out: "0.00", sum: "15.00", opening: undefined, closing: undefined });
  assert.equal(isBalanced(totals), true);
});
