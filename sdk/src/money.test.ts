import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUsd, toMicros } from "./money.ts";

test("amounts are converted to micros and back without a change", () => {
  const amounts = {
    "0.00": 0n,
    "0.01": 10_000n,
    "-0.01": -10_000n,
    "4.999999": 4_999_999n,
    "1234567.50": 1_234_567_500_000n,
  };
  for (const [amount, micros] of Object.entries(amounts)) {
    assert.equal(toMicros(amount), micros);
    assert.equal(formatUsd(micros), amount);
  }
  assert.equal(toMicros("5"), 5_000_000n);
  assert.equal(formatUsd(toMicros("0.10") + toMicros("0.20")), "0.30");
});

test("text that is not an amount is rejected", () => {
  for (const text of ["", "-", ".5", "1.", "1,000.00", "$5", "1e3", "0.0000001"])
    assert.throws(() => toMicros(text), TypeError);
});
