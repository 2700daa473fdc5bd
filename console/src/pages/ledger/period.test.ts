import assert from "node:assert/strict";
import { test } from "node:test";
import { toDays } from "./period.ts";

const now = new Date("2030-01-03T22:00:00Z");

test("periods are whole UTC days with an exclusive end", () => {
  assert.deepEqual(toDays("all", {}, now), {});
  assert.deepEqual(toDays("today", {}, now), { from: "2030-01-03" });
  assert.deepEqual(toDays("7d", {}, now), { from: "2029-12-28" });
  assert.deepEqual(toDays("last-month", {}, now), { from: "2029-12-01", to: "2030-01-01" });
});

test("a custom period includes its last day", () => {
  assert.deepEqual(toDays("dates", { from: "2030-01-01", to: "2030-01-31" }, now), {
    from: "2030-01-01",
    to: "2030-02-01",
  });
  assert.deepEqual(toDays("dates", { from: "soon" }, now), {});
});
