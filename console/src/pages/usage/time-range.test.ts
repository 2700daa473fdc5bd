import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTimeRange, startOf } from "./time-range.ts";

test("one day is shown per hour and 90 days per day, regardless of the URL", () => {
  assert.deepEqual(parseTimeRange(undefined, undefined), { range: "30d", days: 30, by: "day" });
  assert.equal(parseTimeRange("24h", "day").by, "hour");
  assert.equal(parseTimeRange("90d", "hour").by, "day");
  assert.equal(parseTimeRange("7d", "hour").by, "hour");
});

test("the range ends today", () => {
  const now = new Date("2030-01-31T12:34:56Z");
  assert.equal(startOf(parseTimeRange("30d", "day"), now), "2030-01-02");
  assert.equal(startOf(parseTimeRange("7d", "hour"), now), "2030-01-25T00:00:00.000Z");
  assert.equal(startOf(parseTimeRange("24h", undefined), now), "2030-01-30T13:00:00.000Z");
});
