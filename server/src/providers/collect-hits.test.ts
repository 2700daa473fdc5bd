import assert from "node:assert/strict";
import { test } from "node:test";
import { collectHits, type Page } from "./collect-hits.ts";

/** Two hits to a page, and none of them twice. */
function pageOfTwo(number: number, more: boolean): Page {
  const hits = ["a", "b"].map((letter) => ({ title: "", url: `https://example.org/${number}${letter}`, snippet: "" }));
  return { ok: true, hits, more };
}

async function count({ n, mostPages }: { n: number; mostPages: number }, answer: (number: number) => Page) {
  const asked: number[] = [];
  const pages = await collectHits({ n, mostPages }, async (number) => {
    asked.push(number);
    return answer(number);
  });
  return { asked, hits: pages.ok ? pages.hits.length : pages.reason };
}

test("no page is asked for once there are enough hits, and none that were found is thrown away", async () => {
  const found = await count({ n: 3, mostPages: 9 }, (number) => pageOfTwo(number, true));
  assert.deepEqual(found, { asked: [1, 2], hits: 4 });
});

test("an upstream that says it has no more is believed", async () => {
  const found = await count({ n: 20, mostPages: 9 }, (number) => pageOfTwo(number, number < 2));
  assert.deepEqual(found, { asked: [1, 2], hits: 4 });
});

test("no more pages are asked for than the provider allows", async () => {
  const found = await count({ n: 20, mostPages: 3 }, (number) => pageOfTwo(number, true));
  assert.deepEqual(found, { asked: [1, 2, 3], hits: 6 });
});

test("a page that repeats what is known is the last", async () => {
  const found = await count({ n: 20, mostPages: 9 }, () => pageOfTwo(1, true));
  assert.deepEqual(found, { asked: [1, 2], hits: 2 });
});

test("a failure counts only when nothing was found before it", async () => {
  const failed: Page = { ok: false, reason: "throttled", upstreamStatus: 429 };
  assert.deepEqual(await count({ n: 20, mostPages: 9 }, () => failed), { asked: [1], hits: "throttled" });
  const later = await count({ n: 20, mostPages: 9 }, (number) => (number === 1 ? pageOfTwo(1, true) : failed));
  assert.deepEqual(later, { asked: [1, 2], hits: 2 });
});
