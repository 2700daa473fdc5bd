import assert from "node:assert/strict";
import { test } from "node:test";
import { addMoney, formatChange, formatMoney } from "./format-money.ts";

test("money has its unit, its thousands and two decimals", () => {
  assert.equal(formatMoney("4.99"), "$4.99");
  assert.equal(formatMoney("1234567.5"), "$1,234,567.50");
  assert.equal(formatMoney("0"), "$0.00");
  assert.equal(formatMoney("-0.01"), "−$0.01");
  assert.equal(formatChange("5.00"), "+$5.00");
  assert.equal(formatChange("-0.01"), "−$0.01");
});

test("sums are exact where numbers are not", () => {
  assert.equal(addMoney(["0.10", "0.20"]), "0.30");
  assert.equal(addMoney(["5.00", "-0.01", "-0.01"]), "4.98");
  assert.equal(addMoney(["-5.00", "0.000001"]), "-4.999999");
  assert.equal(addMoney([]), "0.00");
});
