import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateRelevance } from "./evaluate-relevance.ts";
import { type System, upstreamOrder } from "./systems.ts";

const urls = Array.from({ length: 12 }, (_, index) => `https://${index + 1}.example/`);
const results = urls.map((url) => ({ url, title: "", snippet: "" }));
const reversed: System = (_, candidates) => candidates.toReversed();

function queryFor(...ranks: number[]) {
  return { query: "q", relevant: ranks.map((rank) => `https://${rank}.example/`), results };
}

test("scores the best relevant result among the first ten", () => {
  const queries = [queryFor(1, 2), queryFor(4, 3), queryFor(10), queryFor(11)];
  const { mrr, success1, success3, success10, changedOrder } = evaluateRelevance(queries, {
    system: upstreamOrder,
    upstream: upstreamOrder,
    category: null,
  });
  assert.equal(mrr.mean, (1 + 1 / 3 + 1 / 10 + 0) / 4);
  assert.deepEqual([success1.mean, success3.mean, success10.mean], [0.25, 0.5, 0.75]);
  assert.deepEqual([mrr.change, changedOrder], [{ mean: 0, low: 0, high: 0 }, 0]);
});

test("compares every query with the upstream order", () => {
  // The relevant result falls from 1 to beyond 10.
  const worse = evaluateRelevance([queryFor(1)], { system: reversed, upstream: upstreamOrder, category: null });
  assert.deepEqual([worse.mrr.change.mean, worse.success10.change.mean, worse.changedOrder], [-1, -1, 1]);
  const better = evaluateRelevance([queryFor(12)], { system: reversed, upstream: upstreamOrder, category: null });
  assert.deepEqual([better.mrr.change.mean, better.success3.change.mean], [1, 1]);
});
