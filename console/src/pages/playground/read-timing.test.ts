import assert from "node:assert/strict";
import { test } from "node:test";
import { readTiming } from "./read-timing.ts";

test("each step begins where the one before it ended", () => {
  assert.deepEqual(readTiming("auth;dur=0.5, hold;dur=2.0, upstream;dur=300, capture;dur=1.5"), [
    { name: "auth", startMs: 0, ms: 0.5 },
    { name: "hold", startMs: 0.5, ms: 2 },
    { name: "upstream", startMs: 2.5, ms: 300 },
    { name: "capture", startMs: 302.5, ms: 1.5 },
  ]);
});

test("a header that is missing or not understood draws nothing", () => {
  assert.deepEqual(readTiming(null), []);
  assert.deepEqual(readTiming(""), []);
  assert.deepEqual(readTiming("cache;desc=hit"), []);
});
