import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "./rank.ts";

function resultsAt(...urls: string[]) {
  return urls.map((url, index) => ({ url, title: `number ${index + 1}` }));
}

test("the upstream's order is kept and cut to what was asked for", () => {
  const results = resultsAt("https://c.example/", "https://a.example/", "https://b.example/");
  assert.deepEqual(rank({ results, n: 2 }), results.slice(0, 2));
  assert.deepEqual(rank({ results, n: 20 }), results);
  assert.deepEqual(rank({ results: [], n: 20 }), []);
});

test("of several spellings of a page the first is shown, as the upstream wrote it", () => {
  const results = resultsAt(
    "http://www.example.org/a/?utm_source=feed",
    "https://example.org/a",
    "https://example.org/b",
    "https://example.org/a#part",
  );
  assert.deepEqual(
    rank({ results, n: 10 }).map(({ title }) => title),
    ["number 1", "number 3"],
  );
  assert.equal(rank({ results, n: 1 })[0]?.url, "http://www.example.org/a/?utm_source=feed");
});

test("a duplicate does not take the place of another page", () => {
  const results = resultsAt("https://example.org/", "https://www.example.org/", "https://example.com/");
  assert.equal(rank({ results, n: 2 }).length, 2);
});
