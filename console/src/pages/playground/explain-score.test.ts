import assert from "node:assert/strict";
import { test } from "node:test";
import { explainScore } from "./explain-score.ts";

const rank = { position: 1, reason: "x", score: 0 };

test("Auth is that of the tier, or the minimum of the guard that raised it", () => {
  const authOf = (...guards: string[]): number =>
    explainScore({ ...rank, upstreamRank: 1, tier: "C", guards }, 0.5).auth;
  assert.deepEqual(
    [authOf(), authOf("exact-name"), authOf("navigational", "coverage"), authOf("home-page"), authOf("anchor")],
    [0.65, 1, 0.9, 0.8, 0.65],
  );
});

test("the sum is the score that the server calculates without further guards", () => {
  const { rel, sum } = explainScore({ ...rank, upstreamRank: 4, tier: "A", guards: [] }, 0.25);
  assert.deepEqual([rel, sum.toFixed(3)], [0.875, "0.906"]);
});
