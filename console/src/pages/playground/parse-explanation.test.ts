import assert from "node:assert/strict";
import { test } from "node:test";
import { explainScore, parseExplanation } from "./parse-explanation.ts";

const header =
  "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=made-for-sale;score=0.965;navigational;anchor, more;count=3";

test("parses the documented format", () => {
  assert.deepEqual(parseExplanation(header), [
    { rank: 1, upstreamRank: 4, tier: "A", reason: "government", score: 0.919, guards: [] },
    { rank: 2, upstreamRank: 1, tier: "N", reason: "made for sale", score: 0.965, guards: ["navigational", "anchor"] },
  ]);
  assert.deepEqual(parseExplanation(null), []);
  assert.deepEqual(parseExplanation(""), []);
});

test("the computed Rel and Auth add up to the server's score", () => {
  const cases = [
    ...parseExplanation(header).map((reason) => ({ reason, lambda: 0.35 })),
    ...parseExplanation("1;from=1;tier=D;why=x;score=1.000;navigational").map((reason) => ({ reason, lambda: 0.5 })),
  ];
  assert.equal(cases.length, 3);
  for (const { reason, lambda } of cases) {
    const { rel, auth } = explainScore(reason, lambda);
    assert.ok(Math.abs((1 - lambda) * rel + lambda * auth - reason.score) < 0.0006, JSON.stringify(reason));
  }
});
