import assert from "node:assert/strict";
import { test } from "node:test";
import { explainScore } from "./explain-score.ts";

test("the computed Rel and Auth add up to the server's score", () => {
  const rank = { position: 1, reason: "x", guards: [] };
  const cases = [
    { explanation: { ...rank, upstreamRank: 4, tier: "A", score: 0.919 }, lambda: 0.35 },
    { explanation: { ...rank, upstreamRank: 1, tier: "N", score: 0.965, guards: ["navigational"] }, lambda: 0.35 },
    { explanation: { ...rank, upstreamRank: 1, tier: "N", score: 0.934, guards: ["navigational"] }, lambda: 0.33 },
    { explanation: { ...rank, upstreamRank: 1, tier: "D", score: 1, guards: ["navigational"] }, lambda: 0.5 },
  ] as const;
  for (const { explanation, lambda } of cases) {
    const { rel, auth } = explainScore({ ...explanation, guards: [...explanation.guards] }, lambda);
    assert.ok(Math.abs((1 - lambda) * rel + lambda * auth - explanation.score) < 0.0006, JSON.stringify(explanation));
  }
});
