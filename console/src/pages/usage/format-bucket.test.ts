import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBucket, formatBucketZone, isPartial } from "./format-bucket.ts";

test("a bucket is labeled in the chosen zone, and a day is a UTC day in both", () => {
  assert.equal(formatBucket("2030-01-31T00:00:00Z", "day", "local"), "Jan 31");
  assert.equal(formatBucket("2030-01-31T14:00:00Z", "hour", "utc"), "Jan 31, 14:00");
  assert.equal(formatBucketZone("2030-01-31T14:00:00Z", "hour", "utc"), "UTC");
  assert.equal(formatBucketZone("2030-01-31T00:00:00Z", "day", "local"), "UTC");
});

test("an hour or day is partial until it has ended", () => {
  const noon = "2030-01-31T12:00:00Z";
  assert.ok(isPartial("2030-01-31T00:00:00Z", "day", noon));
  assert.ok(!isPartial("2030-01-30T00:00:00Z", "day", noon));
  assert.ok(!isPartial("2030-01-31T11:00:00Z", "hour", noon));
});
