import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../problems/problems.ts";
import { readRun } from "./search-headers.ts";

test("Search-Run is limited to 500 characters, regardless of its content", () => {
  const longest = `${"x".repeat(128)};${" ".repeat(350)}max=0.50`;
  assert.equal(readRun(longest)?.maxMicros, 500_000n);
  for (const header of [`x; max=0.50${";a=1".repeat(3_000)}`, `x; max=0.50${" ".repeat(490)}`]) {
    assert.throws(
      () => readRun(header),
      (error) => error instanceof Problem && /at most 500 characters, but has/.test(error.detail),
    );
  }
});
