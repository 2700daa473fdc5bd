import assert from "node:assert/strict";
import { test } from "node:test";
import { explainScore, readExplanation } from "./read-explanation.ts";

const header =
  "1;from=4;tier=A;why=government;score=0.919, 2;from=1;tier=N;why=made-for-sale;score=0.965;navigational;anchor, more;count=3";

test("the explanation is read as it is documented", () => {
  assert.deepEqual(readExplanation(header), [
    { place: 1, from: 4, tier: "A", why: "government", score: 0.919, guards: [] },
    { place: 2, from: 1, tier: "N", why: "made for sale", score: 0.965, guards: ["navigational", "anchor"] },
  ]);
  assert.deepEqual(readExplanation(null), []);
  assert.deepEqual(readExplanation(""), []);
});

test("the arithmetic shown adds up to the score that the server told", () => {
  const cases = [
    ...readExplanation(header).map((reason) => ({ reason, lambda: 0.35 })),
    ...readExplanation("1;from=1;tier=D;why=x;score=1.000;navigational").map((reason) => ({ reason, lambda: 0.5 })),
  ];
  assert.equal(cases.length, 3);
  for (const { reason, lambda } of cases) {
    const { rel, auth } = explainScore(reason, lambda);
    assert.ok(Math.abs((1 - lambda) * rel + lambda * auth - reason.score) < 0.0006, JSON.stringify(reason));
  }
});
