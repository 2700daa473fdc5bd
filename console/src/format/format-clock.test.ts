import assert from "node:assert/strict";
import { test } from "node:test";
import { formatClock, formatDay } from "./format-clock.ts";

test("shows the time for today and adds the date for other days", () => {
  const now = new Date(2030, 0, 31, 12, 0);
  assert.equal(formatClock(new Date(2030, 0, 31, 9, 5), now), "09:05");
  assert.equal(formatClock(new Date(2030, 0, 30, 23, 59), now), "Jan 30, 23:59");
});

test("a UTC day does not shift with the viewer's time zone", () => {
  assert.equal(formatDay("2026-11-15"), "Nov 15");
});
