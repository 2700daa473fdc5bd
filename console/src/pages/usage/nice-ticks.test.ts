import assert from "node:assert/strict";
import { test } from "node:test";
import { niceTicks } from "./nice-ticks.ts";

test("an axis has few round values and includes the maximum", () => {
  assert.deepEqual(niceTicks(0.18, 0.01), [0, 0.05, 0.1, 0.15, 0.2]);
  assert.deepEqual(niceTicks(0.01, 0.01), [0, 0.01]);
  assert.deepEqual(niceTicks(0.08, 0.01), [0, 0.05, 0.1]);
  assert.deepEqual(niceTicks(3.37, 0.01), [0, 1, 2, 3, 4]);
  assert.deepEqual(niceTicks(0.5, 0.01), [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(niceTicks(3, 1), [0, 1, 2, 3]);
  assert.deepEqual(niceTicks(240, 1), [0, 50, 100, 150, 200, 250]);
  assert.deepEqual(niceTicks(0, 1), [0, 1]);
});
