import assert from "node:assert/strict";
import { test } from "node:test";
import { drawUsage } from "./draw-usage.ts";
import { sanitize, type Terminal, wrap } from "./terminal.ts";

const terminal: Terminal = { isInteractive: false, width: 50, paint: (_, text) => text };

test("draws a bar for every day, including days without searches, and an exact total", () => {
  const lines = [
    { start: "2026-11-01T00:00:00Z", mode: "live", searches: 1_200, charged: "12.00" },
    { start: "2026-11-03T00:00:00Z", mode: "live", searches: 1, charged: "0.01" },
    { start: "2026-11-03T00:00:00Z", mode: "live", searches: 599, charged: "5.980001" },
    { start: "2026-11-03T00:00:00Z", mode: "test", searches: 7, charged: "0.00" },
    { start: "2026-11-04T00:00:00Z", mode: "live", searches: 0, refusals: 1_500, replays: 2, charged: "0.00" },
  ] as const;
  assert.deepEqual(drawUsage(lines, "day", terminal).split("\n"), [
    "2026-11-01  ████████████████  1,200      12.00 USD",
    "2026-11-02                        0       0.00 USD",
    "2026-11-03  ████████            600   5.990001 USD",
    "total                         1,800  17.990001 USD",
    "(plus 7 searches with test keys, 1,500 refused requests, 2 replays: free)",
  ]);
});

test("the smallest bar is visible, and no usage prints a message", () => {
  const lines = [
    { start: "2026-11-01T10:00:00Z", mode: "live", searches: 100_000, charged: "1000.00" },
    { start: "2026-11-01T11:00:00Z", mode: "live", searches: 1, charged: "0.01" },
  ] as const;
  assert.match(drawUsage(lines, "hour", terminal), /^2026-11-01 11:00 {2}▏ /m);
  assert.equal(drawUsage([], "day", terminal), "No live searches in this period.");
});

test("sanitize removes terminal control characters", () => {
  assert.equal(sanitize("a\u001b[2J\u009b31mb\u202ec\r\nd"), "a [2J 31mb c d");
});

test("wraps at word boundaries and never splits a long word", () => {
  assert.equal(wrap("one two three", 9, "  "), "  one two\n  three");
  assert.equal(wrap("https://example.com/long x", 9, ""), "https://example.com/long\nx");
});
