import assert from "node:assert/strict";
import { test } from "node:test";
import { readHits } from "./read-hits.ts";

const names = { title: "title", url: "url", snippet: "text" };
const page = { title: "A title", url: "HTTPS://example.org/", text: "Some text" };

test("what has no web address is left out, and the others stay in order", () => {
  const items = [{ url: "javascript:alert(1)" }, page, { url: "/relative" }, { url: "http://example.org/b" }];
  assert.deepEqual(readHits(items, names), [
    { title: "A title", url: "HTTPS://example.org/", snippet: "Some text" },
    { title: "", url: "http://example.org/b", snippet: "" },
  ]);
});

test("a list without one web address is no answer, so nobody pays for it; an empty list is one", () => {
  for (const url of [
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://example.org/",
    "//example.org/",
    "/relative",
    "",
  ]) {
    assert.equal(
      readHits(
        [
          { ...page, url },
          { ...page, url },
        ],
        names,
      ),
      undefined,
      url,
    );
  }
  assert.deepEqual(readHits([], names), []);
});
