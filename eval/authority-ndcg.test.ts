import assert from "node:assert/strict";
import { test } from "node:test";
import { authorityNdcg } from "./authority-ndcg.ts";

test("the ideal order scores 1 and results rated 1 score 0", () => {
  assert.equal(authorityNdcg({ shown: [5, 4, 1], all: [1, 5, 4] }), 1);
  assert.equal(authorityNdcg({ shown: [1, 1], all: [1, 1, 5] }), 0);
});

test("the gain grows exponentially with the rating and is discounted by the logarithm of the position", () => {
  // Calculated manually: (3 / log2(2) + 15 / log2(3)) / (15 / log2(2) + 3 / log2(3)).
  assert.equal(authorityNdcg({ shown: [3, 5], all: [3, 5] }).toFixed(4), "0.7378");
});

test("the ideal order uses all rated results, not only those shown, and is cut off at ten", () => {
  assert.ok(authorityNdcg({ shown: [4, 4], all: [4, 4, 5, 5] }) < 1);
  const eleven = Array.from({ length: 11 }, () => 5);
  assert.equal(authorityNdcg({ shown: eleven.slice(0, 10), all: eleven }), 1);
});
