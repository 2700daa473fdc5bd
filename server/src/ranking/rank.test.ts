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

/** Each host ranks with its home page. */
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
  const pages = ["a.primary.example", "b.primary.example", "c.primary.example", "weak.example", "x.org", "y.org"];
  assert.equal(order(pages).at(-1), "c.primary.example");
});

test("a site with more than half of the upstream's first ten results keeps its third page", () => {
  const main = ["a", "b", "c", "d", "e", "f"].map((label) => `${label}.main.example`);
  const pages = [...main, "v.org", "w.org", "x.org", "y.org"];
  assert.deepEqual(order(pages), pages);
  const half = [...main.slice(0, 5), "u.org", "v.org", "w.org", "x.org", "y.org"];
  assert.deepEqual(order(half).slice(0, 3), ["a.main.example", "b.main.example", "u.org"]);
  // Pages beyond the first ten do not count.
  assert.deepEqual(order([...half, "f.main.example", "g.main.example", "h.main.example"]).at(2), "u.org");
});

test("a page does not overtake one that matches the query better", () => {
  const lens = lensOf(rules, 0.5);
  const orderOf = (...pages: { title?: string; snippet?: string }[]): number[] => {
    const hosts = ["a.org", "b.org", "primary.example"];
    const results = pages.map((page, index) => ({ url: `https://${hosts[index]}/page`, ...page }));
    const ranked = rank({ results, n: 3, query: "pinning packages", lens });
    return ranked.map((result) => results.indexOf(result) + 1);
  };
  const [both, oneOfTwo, title] = [
    { snippet: "Pin packages by pinning" },
    { snippet: "Packages" },
    { title: "Package pinning" },
  ];
  assert.deepEqual(orderOf(both, both, both), [3, 1, 2]);
  assert.deepEqual(orderOf(oneOfTwo, oneOfTwo, oneOfTwo), [3, 1, 2]);
  assert.deepEqual(orderOf(both, oneOfTwo, oneOfTwo), [1, 3, 2]);
  assert.deepEqual(orderOf(title, oneOfTwo, both), [1, 3, 2]);
  assert.deepEqual(orderOf(title, both, both), [1, 3, 2]);
  assert.deepEqual(orderOf(title, title, both), [1, 2, 3]);
  assert.deepEqual(orderOf(oneOfTwo, both, title), [3, 1, 2]);
});

test("a site that the whole query names overtakes pages that match better", () => {
  const results = [
    { url: "https://a.org/page", title: "How to use the Post login" },
    { url: "https://post.org/", title: "Welcome" },
  ];
  assert.equal(rank({ results, n: 2, query: "post login", lens: lensOf(rules) })[0]?.url, "https://post.org/");
  assert.equal(rank({ results, n: 2, query: "use post", lens: lensOf(rules) })[0]?.url, "https://a.org/page");
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
