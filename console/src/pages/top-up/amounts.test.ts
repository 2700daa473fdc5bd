import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAmount, countSearches, listAmounts } from "./amounts.ts";

const limits = { minimum: "5.00", maximum: "1000.00" };

test("offers only amounts within the limits", () => {
  assert.deepEqual(listAmounts(limits), ["5.00", "10.00", "20.00", "50.00", "100.00"]);
  assert.deepEqual(listAmounts({ minimum: "20.00", maximum: "50.00" }), ["20.00", "50.00"]);
});

test("validates the amount before checkout", () => {
  assert.deepEqual(checkAmount("$12.5", limits), { amount: "12.50" });
  assert.equal(checkAmount("4.99", limits).error, "The minimum is $5.00.");
  assert.equal(checkAmount("1,000.01", limits).error, "The maximum is $1,000.00 per payment.");
  assert.ok(checkAmount("ten", limits).error);
});

test("counts whole searches", () => {
  assert.equal(countSearches("20.00", "0.01"), 2_000);
  assert.equal(countSearches("0.29", "0.01"), 29);
  assert.equal(countSearches("5.00", "0.03"), 166);
});
