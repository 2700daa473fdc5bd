import assert from "node:assert/strict";
import { test } from "node:test";
import { beginOf, readSpan } from "./span.ts";

test("a day is shown by hours, a quarter by days, whatever the address says", () => {
  assert.deepEqual(readSpan(undefined, undefined), { span: "30d", days: 30, by: "day" });
  assert.equal(readSpan("24h", "day").by, "hour");
  assert.equal(readSpan("90d", "hour").by, "day");
  assert.equal(readSpan("7d", "hour").by, "hour");
});

test("today is the last of the days", () => {
  const now = new Date("2030-01-31T12:34:56Z");
  assert.equal(beginOf(readSpan("30d", "day"), now), "2030-01-02");
  assert.equal(beginOf(readSpan("7d", "hour"), now), "2030-01-25T00:00:00.000Z");
  assert.equal(beginOf(readSpan("24h", undefined), now), "2030-01-30T13:00:00.000Z");
});
