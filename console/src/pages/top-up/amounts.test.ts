import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAmount, countSearches, listAmounts } from "./amounts.ts";

const limits = { minimum: "5.00", maximum: "1000.00" };

test("only amounts that may be paid are offered", () => {
  assert.deepEqual(listAmounts(limits), ["5.00", "10.00", "20.00", "50.00", "100.00"]);
  assert.deepEqual(listAmounts({ minimum: "20.00", maximum: "50.00" }), ["20.00", "50.00"]);
});

test("an amount is checked before anybody is sent to pay", () => {
  assert.deepEqual(checkAmount("$12.5", limits), { amount: "12.50" });
  assert.equal(checkAmount("4.99", limits).error, "At least $5.00.");
  assert.equal(checkAmount("1,000.01", limits).error, "At most $1,000.00 at a time.");
  assert.ok(checkAmount("ten", limits).error);
});

test("an amount is good for whole searches", () => {
  assert.equal(countSearches("20.00", "0.01"), 2_000);
  assert.equal(countSearches("0.29", "0.01"), 29);
  assert.equal(countSearches("5.00", "0.03"), 166);
});
