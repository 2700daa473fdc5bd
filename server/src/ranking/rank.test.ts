import assert from "node:assert/strict";
import { test } from "node:test";
import { lensOf } from "../../test/support/data/lens-of.ts";
import { rank } from "./rank.ts";

function resultsAt(...urls: string[]) {
  return urls.map((url, index) => ({ url, title: `number ${index + 1}` }));
}

test("without a lens, keeps the upstream's order and truncates to n", () => {
  const results = resultsAt("https://c.example/", "https://a.example/", "https://b.example/");
  assert.deepEqual(rank({ results, n: 2 }), results.slice(0, 2));
  assert.deepEqual(rank({ results, n: 20 }), results);
  assert.deepEqual(rank({ results: [], n: 20 }), []);
});

test("of equivalent URLs, returns the first as the upstream wrote it", () => {
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

test("a duplicate does not displace another page", () => {
  const results = resultsAt("https://example.org/", "https://www.example.org/", "https://example.com/");
  assert.equal(rank({ results, n: 2 }).length, 2);
});

const rules = `
$tier=A,site=primary.example,why=primary
$tier=B,site=established.example,why=established
$tier=D,site=weak.example,why=weak
$tier=E,site=last.example,why=last
`;

function order(urls: string[], query = "", lens = lensOf(rules, 0.35)): string[] {
  const results = resultsAt(...urls.map((host) => `https://${host}/`));
  return rank({ results, n: 20, query, lens }).map(({ url }) => new URL(url).hostname);
}

test("authority ranks a primary source above an unknown page, within limits", () => {
  assert.deepEqual(order(["a.org", "b.org", "primary.example"]), ["primary.example", "a.org", "b.org"]);
  const many = Array.from({ length: 14 }, (_, index) => `unknown-${index}.org`);
  assert.equal(order([...many, "primary.example"])[0], "unknown-0.org");
});

test("the upstream's first result stays in the top three, unless it is in tier E", () => {
  const better = ["primary.example", "a.primary.example", "established.example", "a.established.example"];
  assert.equal(order(["weak.example", ...better])[2], "weak.example");
  assert.equal(order(["last.example", ...better])[4], "last.example");
});

test("a site named by the query ranks above any authority", () => {
  const pages = ["post.org", "primary.example", "established.example"];
  assert.equal(order(pages)[0], "primary.example");
  assert.equal(order(pages, "post login")[0], "post.org");
  assert.equal(order(["primary.example", "established.example", "x.org", "post.org"], "post")[3], "post.org");
});

test("without a category, a home page that the upstream ranks first yields only to a primary source near the top", () => {
  const rest = ["established.example", "b.org", "primary.example"];
  const general = lensOf(rules, 0.33);
  assert.equal(order(["a.org", ...rest], "", general)[0], "a.org");
  assert.equal(order(["a.org", "primary.example"], "", general)[0], "primary.example");
  assert.equal(order(["a.org", ...rest], "", { ...general, isGeneral: false })[0], "primary.example");
  assert.equal(order(["a.org/page", ...rest], "", general)[0], "primary.example");
});

test("the third page of a site ranks below all other sites", () => {
  const pages = ["a.primary.example", "b.primary.example", "c.primary.example", "weak.example", "x.org"];
  assert.equal(order(pages).at(-1), "c.primary.example");
});

test("of two results with the same text, the one with the lower tier goes to the end", () => {
  const text =
    "the harbour was closed on monday after a crane fell into the basin said the authority of the port today";
  const results = [
    { url: "https://copies.org/1", snippet: text },
    { url: "https://other.org/" },
    { url: "https://primary.example/", snippet: text },
    { url: "https://weak.example/" },
  ];
  const ranked = rank({ results, n: 4, lens: lensOf(rules) }).map(({ url }) => url);
  assert.deepEqual(ranked, [
    "https://primary.example/",
    "https://other.org/",
    "https://weak.example/",
    "https://copies.org/1",
  ]);
});
