import assert from "node:assert/strict";
import { test } from "node:test";
import { addMoney, formatMoney, formatSignedMoney } from "./format-money.ts";

test("formats money with a dollar sign, thousands separators and two decimals", () => {
  assert.equal(formatMoney("4.99"), "$4.99");
  assert.equal(formatMoney("1234567.5"), "$1,234,567.50");
  assert.equal(formatMoney("0"), "$0.00");
  assert.equal(formatMoney("-0.01"), "−$0.01");
  assert.equal(formatSignedMoney("5.00"), "+$5.00");
  assert.equal(formatSignedMoney("-0.01"), "−$0.01");
  assert.equal(formatSignedMoney("0.00"), "$0.00");
});

test("adds amounts exactly where floating point would not", () => {
  assert.equal(addMoney(["0.10", "0.20"]), "0.30");
  assert.equal(addMoney(["5.00", "-0.01", "-0.01"]), "4.98");
  assert.equal(addMoney(["-5.00", "0.000001"]), "-4.999999");
  assert.equal(addMoney([]), "0.00");
});
