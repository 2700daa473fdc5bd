import assert from "node:assert/strict";
import { test } from "node:test";
import { readRetryAfter } from "./read-retry-after.ts";

const nowMs = Date.parse("2026-11-15T10:00:00Z");

test("returns seconds unchanged", () => {
  assert.equal(readRetryAfter("0", nowMs), 0);
  assert.equal(readRetryAfter("86400", nowMs), 86_400);
});

test("converts a date to seconds, rounded up, and a past date to 0", () => {
  assert.equal(readRetryAfter("Sun, 15 Nov 2026 10:00:30 GMT", nowMs), 30);
  assert.equal(readRetryAfter("Sun, 15 Nov 2026 10:00:30 GMT", nowMs + 1), 30);
  assert.equal(readRetryAfter("Sunday, 15-Nov-26 10:00:05 GMT", nowMs), 5);
  assert.equal(readRetryAfter("Sun, 15 Nov 2026 09:00:00 GMT", nowMs), 0);
});

test("ignores invalid values", () => {
  const invalid = [undefined, "", "soon", "-5", "1.5", "5, 7", "1e3", "99999999999", "2026-11-15", "Mon, nothing"];
  for (const value of invalid) assert.equal(readRetryAfter(value, nowMs), undefined, String(value));
});
