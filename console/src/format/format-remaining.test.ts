import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRemaining } from "./format-remaining.ts";

test("formats the time left in its two largest units, or undefined once it has passed", () => {
  const now = new Date("2030-01-31T12:00:00Z");
  const format = (seconds: number) => formatRemaining(new Date(now.getTime() + seconds * 1_000), now);
  assert.equal(format(7 * 86_400 - 1), "6 d 23 h");
  assert.equal(format(3_600), "1 h");
  assert.equal(format(61), "1 min 1 s");
  assert.equal(format(9), "9 s");
  assert.equal(format(0), undefined);
  assert.equal(format(-5), undefined);
});
