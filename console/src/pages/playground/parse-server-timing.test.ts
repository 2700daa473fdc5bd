import assert from "node:assert/strict";
import { test } from "node:test";
import { parseServerTiming } from "./parse-server-timing.ts";

test("each step starts where the previous one ended", () => {
  assert.deepEqual(parseServerTiming("auth;dur=0.5, hold;dur=2.0, upstream;dur=300, capture;dur=1.5"), [
    { name: "auth", startMs: 0, ms: 0.5 },
    { name: "hold", startMs: 0.5, ms: 2 },
    { name: "upstream", startMs: 2.5, ms: 300 },
    { name: "capture", startMs: 302.5, ms: 1.5 },
  ]);
});

test("a missing or unparsable header has no steps", () => {
  assert.deepEqual(parseServerTiming(null), []);
  assert.deepEqual(parseServerTiming(""), []);
  assert.deepEqual(parseServerTiming("cache;desc=hit"), []);
});
