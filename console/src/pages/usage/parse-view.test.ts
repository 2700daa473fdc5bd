import assert from "node:assert/strict";
import { test } from "node:test";
import { isEndUser, parseView } from "./parse-view.ts";

test("by end user, only days of the last 90 days are counted", () => {
  const { ranges, ...view } = parseView({ span: "24h", by: "hour", group: "end_user" });
  assert.deepEqual(view, { range: "30d", days: 30, by: "day", group: "end_user", endUser: undefined });
  assert.deepEqual(
    ranges.map(({ value }) => value),
    ["7d", "30d", "90d"],
  );
  assert.equal(parseView({ span: "12m", group: "end_user" }).range, "30d");
  assert.equal(parseView({ span: "24h", group: "key" }).by, "hour");
});

test("a filter groups by end user, and an invalid one is ignored", () => {
  const { group, endUser } = parseView({ group: "key", for: "auth0|5f7c" });
  assert.deepEqual([group, endUser], ["end_user", "auth0|5f7c"]);
  assert.deepEqual([parseView({ group: "key", for: "a b" }).group, parseView({ for: "" }).endUser], ["key", undefined]);
  assert.ok(isEndUser("~Zm9vYmFyYmF6cXV4MTIzNA") && !isEndUser("~Zm9v") && !isEndUser("x".repeat(65)));
});
