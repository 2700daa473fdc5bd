import assert from "node:assert/strict";
import { test } from "node:test";
import { isPlausibleSignature } from "./stripe-signature.ts";

const nowMs = 1_800_000_000_000;
const nowSeconds = nowMs / 1_000;
const v1 = `v1=${"0a".repeat(32)}`;

test("a signature header is plausible only if it is well-formed and at most five minutes old", () => {
  const plausible = [
    `t=${nowSeconds},${v1}`,
    `t=${nowSeconds - 300}, ${v1}, v0=${"00".repeat(32)}`,
    `${v1},${v1},t=${nowSeconds}`,
  ];
  const implausible = [
    "",
    "nonsense",
    `t=${nowSeconds}`,
    v1,
    `t=,${v1}`,
    `t=${nowSeconds},v1=short`,
    `t=${nowSeconds},v0=${"0a".repeat(32)}`,
    `t=${nowSeconds},t=${nowSeconds},${v1}`,
    `t=${nowSeconds - 301},${v1}`,
    `t=${nowSeconds + 301},${v1}`,
    `t=${nowSeconds},${v1}${`,${v1}`.repeat(20)}`,
  ];
  for (const header of plausible) assert.equal(isPlausibleSignature(header, nowMs), true, header);
  for (const header of implausible) assert.equal(isPlausibleSignature(header, nowMs), false, header);
});
