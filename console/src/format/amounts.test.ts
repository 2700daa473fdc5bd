import assert from "node:assert/strict";
import { test } from "node:test";
import { fractionOf, isLessThan, parseAmount, subtract } from "./amounts.ts";

test("parses amounts as people type them, in whole cents", () => {
  assert.equal(parseAmount("20"), "20.00");
  assert.equal(parseAmount(" $1,000.5 "), "1000.50");
  assert.equal(parseAmount("007"), "7.00");
  for (const text of ["", "-5", "1.005", "5 dollars", "1,00", "."]) assert.equal(parseAmount(text), undefined, text);
});

test("compares and subtracts amounts exactly", () => {
  assert.equal(isLessThan("9.99", "10.00"), true);
  assert.equal(isLessThan("10.00", "10.0"), false);
  assert.equal(isLessThan("-1.00", "0.00"), true);
  assert.equal(subtract("0.30", "0.10"), "0.20");
  assert.equal(subtract("1.00", "-0.50"), "1.50");
});

test("a fraction stays between 0 and 1", () => {
  assert.equal(fractionOf("2.50", "5.00"), 0.5);
  assert.equal(fractionOf("6.00", "5.00"), 1);
  assert.equal(fractionOf("0.00", "0.00"), 1);
});
