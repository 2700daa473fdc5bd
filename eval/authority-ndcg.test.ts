import assert from "node:assert/strict";
import { test } from "node:test";
import { authorityNdcg } from "./authority-ndcg.ts";

test("the best possible order scores one, and what nobody believes scores nothing", () => {
  assert.equal(authorityNdcg({ shown: [5, 4, 1], all: [1, 5, 4] }), 1);
  assert.equal(authorityNdcg({ shown: [1, 1], all: [1, 1, 5] }), 0);
});

test("a gain doubles with each step of the rating and shrinks with the logarithm of the place", () => {
  // (3 / log2(2) + 15 / log2(3)) / (15 / log2(2) + 3 / log2(3)), worked out by hand.
  assert.equal(authorityNdcg({ shown: [3, 5], all: [3, 5] }).toFixed(4), "0.7378");
});

test("what is best is taken from all rated results and not only from those shown, ten deep", () => {
  assert.ok(authorityNdcg({ shown: [4, 4], all: [4, 4, 5, 5] }) < 1);
  const eleven = Array.from({ length: 11 }, () => 5);
  assert.equal(authorityNdcg({ shown: eleven.slice(0, 10), all: eleven }), 1);
});
