import assert from "node:assert/strict";
import { test } from "node:test";
import { collectHits, type Page } from "./collect-hits.ts";

/** Two hits per page, all different. */
function pageOfTwo(number: number, more: boolean): Page {
  const hits = ["a", "b"].map((letter) => ({ title: "", url: `https://example.org/${number}${letter}`, snippet: "" }));
  return { ok: true, hits, more };
}

async function count({ n, maxPages }: { n: number; maxPages: number }, answer: (number: number) => Page) {
  const requested: number[] = [];
  const pages = await collectHits({ n, maxPages }, async (number) => {
    requested.push(number);
    return answer(number);
  });
  return { requested, hits: pages.ok ? pages.hits.length : pages.reason };
}

test("stops when there are enough hits and returns all of them", async () => {
  const found = await count({ n: 3, maxPages: 9 }, (number) => pageOfTwo(number, true));
  assert.deepEqual(found, { requested: [1, 2], hits: 4 });
});

test("stops when the upstream reports no more pages", async () => {
  const found = await count({ n: 20, maxPages: 9 }, (number) => pageOfTwo(number, number < 2));
  assert.deepEqual(found, { requested: [1, 2], hits: 4 });
});

test("stops at the provider's page limit", async () => {
  const found = await count({ n: 20, maxPages: 3 }, (number) => pageOfTwo(number, true));
  assert.deepEqual(found, { requested: [1, 2, 3], hits: 6 });
});

test("stops at a page without new hits", async () => {
  const found = await count({ n: 20, maxPages: 9 }, () => pageOfTwo(1, true));
  assert.deepEqual(found, { requested: [1, 2], hits: 2 });
});

test("returns a failure only if no earlier page had hits", async () => {
  const failed: Page = { ok: false, reason: "throttled", upstreamStatus: 429 };
  assert.deepEqual(await count({ n: 20, maxPages: 9 }, () => failed), { requested: [1], hits: "throttled" });
  const later = await count({ n: 20, maxPages: 9 }, (number) => (number === 1 ? pageOfTwo(1, true) : failed));
  assert.deepEqual(later, { requested: [1, 2], hits: 2 });
});
