import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLeft } from "./format-left.ts";

test("what is left is told in its two largest units, and nothing once it is over", () => {
  const now = new Date("2030-01-31T12:00:00Z");
  const told = (seconds: number) => formatLeft(new Date(now.getTime() + seconds * 1_000), now);
  assert.equal(told(7 * 86_400 - 1), "6 d 23 h");
  assert.equal(told(3_600), "1 h");
  assert.equal(told(61), "1 min 1 s");
  assert.equal(told(9), "9 s");
  assert.equal(told(0), undefined);
  assert.equal(told(-5), undefined);
});
