import assert from "node:assert/strict";
import { test } from "node:test";
import { isLess, readAmount, shareOf, subtract } from "./amounts.ts";

test("an amount is read as people write it, in whole cents", () => {
  assert.equal(readAmount("20"), "20.00");
  assert.equal(readAmount(" $1,000.5 "), "1000.50");
  assert.equal(readAmount("007"), "7.00");
  for (const text of ["", "-5", "1.005", "5 dollars", "1,00", "."]) assert.equal(readAmount(text), undefined, text);
});

test("amounts are compared and taken apart exactly", () => {
  assert.equal(isLess("9.99", "10.00"), true);
  assert.equal(isLess("10.00", "10.0"), false);
  assert.equal(isLess("-1.00", "0.00"), true);
  assert.equal(subtract("0.30", "0.10"), "0.20");
  assert.equal(subtract("1.00", "-0.50"), "1.50");
});

test("a share stays between nothing and all", () => {
  assert.equal(shareOf("2.50", "5.00"), 0.5);
  assert.equal(shareOf("6.00", "5.00"), 1);
  assert.equal(shareOf("0.00", "0.00"), 1);
});
