import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration } from "./format-duration.ts";

test("shows the largest two units", () => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [59, "59 s"],
    [60, "1 min"],
    [3_599, "59 min"],
    [3_600, "1 h"],
    [12_000, "3 h 20 min"],
    [86_400, "1 d"],
    [446_400, "5 d 4 h"],
  ];
  for (const [seconds, text] of cases) assert.equal(formatDuration(seconds), text);
});
