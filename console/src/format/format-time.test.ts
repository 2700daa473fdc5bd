import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatCount,
  formatDays,
  formatExact,
  formatMs,
  formatPercent,
  formatPrecise,
  formatRelative,
  formatZone,
} from "./format-time.ts";

test("formats exact times with their zone", () => {
  const at = new Date("2030-01-31T14:02:03.120Z");
  assert.equal(formatExact(at, "utc"), "Jan 31, 2030, 14:02:03 UTC");
  assert.equal(formatPrecise(at, "utc"), "Jan 31, 2030, 14:02:03.120 UTC");
  assert.equal(formatZone("utc", at), "UTC");
});

test("formats relative times", () => {
  const now = new Date("2030-01-31T12:00:00Z");
  const format = (text: string): string => formatRelative(new Date(text), now);
  assert.equal(format("2030-01-31T11:59:58Z"), "just now");
  assert.equal(format("2030-01-31T12:00:14Z"), "just now", "newer than the clock of the page");
  assert.equal(format("2030-01-31T12:00:20Z"), "in 20 seconds");
  assert.equal(format("2030-01-31T11:57:00Z"), "3 minutes ago");
  assert.equal(format("2030-02-02T13:00:00Z"), "in 2 days");
  assert.equal(format("2030-01-30T11:00:00Z"), "yesterday");
});

test("formats durations and counts with their unit", () => {
  assert.equal(formatDays(6.2), "about 6 days");
  assert.equal(formatDays(0.25), "about 6 hours");
  assert.equal(formatDays(400), "more than a year");
  assert.equal(formatDays(0.01), "less than an hour");
  assert.equal(formatMs(412.4), "412 ms");
  assert.equal(formatMs(4_100), "4.10 s");
  assert.equal(formatCount(1, "search", "searches"), "1 search");
  assert.equal(formatCount(1_204, "search", "searches"), "1,204 searches");
});

test("never rounds a ratio up to 100 %", () => {
  assert.equal(formatPercent(0.99996), "99.9 %");
  assert.equal(formatPercent(1), "100 %");
});
