import assert from "node:assert/strict";
import { test } from "node:test";
import { offsetMs } from "./watch-clock.ts";

test("the offset of a clock excludes the time of the request", () => {
  assert.equal(offsetMs(1_000, 1_000, 1_500), 0);
  assert.equal(offsetMs(1_500, 1_000, 1_500), 0);
  assert.equal(offsetMs(900, 1_000, 1_500), 100, "this machine is ahead");
  assert.equal(offsetMs(1_700, 1_000, 1_500), -200, "this machine is behind");
});
