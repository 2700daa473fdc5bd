import assert from "node:assert/strict";
import { test } from "node:test";
import { readHits } from "./read-hits.ts";

const names = { title: "title", url: "url", snippet: "text" };
const page = { title: "A title", url: "HTTPS://example.org/", text: "Some text" };

test("skips items without a web URL and keeps the order of the others", () => {
  const items = [{ url: "javascript:alert(1)" }, page, { url: "/relative" }, { url: "http://example.org/b" }];
  assert.deepEqual(readHits(items, names), [
    { title: "A title", url: "HTTPS://example.org/", snippet: "Some text" },
    { title: "", url: "http://example.org/b", snippet: "" },
  ]);
});

test("rejects a list in which no item has a web URL, and accepts an empty list", () => {
  const invalid = ["javascript:alert(1)", "data:text/html,x", "ftp://example.org/", "//example.org/", "/relative", ""];
  for (const url of invalid) {
    const item = { ...page, url };
    assert.equal(readHits([item, item], names), undefined, url);
  }
  assert.deepEqual(readHits([], names), []);
});

test("a URL that is too long, or has an impossible host, does not count as a hit", () => {
  const long = Array.from({ length: 60 }, (_, index) => ({
    ...page,
    url: `https://${"a".repeat(64 + index)}.example/`,
  }));
  assert.deepEqual(
    readHits([...long, page], names)?.map(({ url }) => url),
    [page.url],
  );
  assert.equal(readHits(long, names), undefined);
});

test("reads at most 50 hits", () => {
  const items = Array.from({ length: 150 }, (_, index) => ({ ...page, url: `https://example.org/${index}` }));
  const hits = readHits(["no object", ...items], names);
  assert.deepEqual([hits?.length, hits?.at(-1)?.url], [50, "https://example.org/49"]);
});
