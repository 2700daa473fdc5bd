import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapMean } from "./bootstrap.ts";

test("the interval contains the mean, is deterministic, and is narrow when values agree", () => {
  const values = [0.1, 0.3, -0.1, 0.2, 0.05, 0.15];
  const { mean, low, high } = bootstrapMean(values);
  assert.ok(low < mean && mean < high);
  assert.deepEqual(bootstrapMean(values), { mean, low, high });
  assert.deepEqual(bootstrapMean([0.5, 0.5, 0.5]), { mean: 0.5, low: 0.5, high: 0.5 });
});
