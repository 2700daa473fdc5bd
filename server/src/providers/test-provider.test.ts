import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanResults } from "../search/clean-results.ts";
import type { Category } from "./provider.ts";
import { parseTestQuery, queryTestUpstream } from "./test-provider.ts";

const options = { signal: new AbortController().signal, deadlineMs: 5000 };

async function hitsFor(query: string, n = 20, category?: Category) {
  const answer = await queryTestUpstream({ query, n, category }, options);
  assert.ok(answer.ok);
  return answer.hits;
}

test("results are deterministic and differ between searches", async () => {
  assert.deepEqual(await hitsFor("rust async"), await hitsFor("rust async"));
  assert.notDeepEqual(await hitsFor("rust async"), await hitsFor("rust sync"));
  assert.notDeepEqual(await hitsFor("rust async"), await hitsFor("rust async", 20, "programming"));
  assert.deepEqual(await hitsFor("rust async", 5), (await hitsFor("rust async", 20)).slice(0, 5));
});

test("returns n different results that mention the query and its category", async () => {
  for (const n of [1, 10, 20]) {
    const hits = await hitsFor("zażółć gęślą", n, "gov");
    assert.equal(new Set(hits.map(({ url }) => url)).size, n);
    for (const { title, snippet } of hits) assert.match(title + snippet, /zażółć gęślą \(gov\).*zażółć gęślą \(gov\)/);
  }
});

test("all results use reserved domains", async () => {
  for (const { url } of await hitsFor("anything at all")) {
    assert.match(new URL(url).hostname, /(^|\.)example(\.com|\.net|\.org)?$/);
  }
});

test("only a single word that starts with test: is a test query", () => {
  for (const query of ["rust", "test", "test:", "test: a title", "test:empty set", "a test:empty", "TEST:empty"]) {
    assert.deepEqual(parseTestQuery(query), { kind: "hits" }, query);
  }
});

test("parses every test query and passes unknown ones on as a problem code", () => {
  assert.deepEqual(parseTestQuery("test:empty"), { kind: "hits", results: { count: 0 } });
  assert.deepEqual(parseTestQuery("test:results=20"), { kind: "hits", results: { count: 20 } });
  for (const text of ["long", "unicode", "injection"]) {
    assert.deepEqual(parseTestQuery(`test:${text}`), { kind: "hits", results: { text } });
  }
  assert.deepEqual(parseTestQuery("test:slow=0"), { kind: "slow", ms: 0 });
  assert.deepEqual(parseTestQuery("test:slow=10000"), { kind: "slow", ms: 10_000 });
  assert.deepEqual(parseTestQuery("test:upstream_503"), { kind: "upstream", reason: "status", upstreamStatus: 503 });
  assert.deepEqual(parseTestQuery("test:upstream_401"), {
    kind: "upstream",
    reason: "credential",
    upstreamStatus: 401,
  });
  assert.deepEqual(parseTestQuery("test:upstream_timeout"), { kind: "upstream", reason: "timeout" });
  assert.deepEqual(parseTestQuery("test:upstream_unreachable"), { kind: "upstream", reason: "unreachable" });
  assert.deepEqual(parseTestQuery("test:upstream_invalid_response"), { kind: "upstream", reason: "invalid_response" });
  for (const code of "insufficient_balance results=21 results=-1 slow=10001 slow=-1 slow=1e3 upstream_302 upstream_600 Empty".split(
    " ",
  )) {
    assert.deepEqual(parseTestQuery(`test:${code}`), { kind: "problem", code });
  }
});

test("a simulated failure looks like a real one", async () => {
  assert.deepEqual(await queryTestUpstream({ query: "test:upstream_429", n: 10 }, options), {
    ok: false,
    provider: "test",
    reason: "throttled",
    upstreamStatus: 429,
    tookMs: 0,
  });
  assert.deepEqual(await queryTestUpstream({ query: "test:empty", n: 10 }, options), {
    ok: true,
    provider: "test",
    hits: [],
    tookMs: 0,
  });
});

test("a slow answer respects the deadline and an abort", async () => {
  const slow = { query: "test:slow=20", n: 3 };
  const late = await queryTestUpstream(slow, options);
  assert.ok(late.ok);
  assert.equal(late.hits.length, 3);
  assert.equal(late.tookMs, 20);

  const missed = await queryTestUpstream(slow, { ...options, deadlineMs: 5 });
  assert.ok(!missed.ok);
  assert.equal(missed.reason, "timeout");

  const caller = new AbortController();
  const pending = queryTestUpstream(
    { query: "test:slow=10000", n: 3 },
    { ...options, signal: caller.signal, deadlineMs: 20_000 },
  );
  caller.abort();
  const unwanted = await pending;
  assert.ok(!unwanted.ok);
  assert.equal(unwanted.reason, "aborted");
});

test("returns the requested number of results, at most n", async () => {
  assert.equal((await hitsFor("test:results=3")).length, 3);
  assert.equal((await hitsFor("test:results=0")).length, 0);
  assert.equal((await hitsFor("test:results=20", 5)).length, 5);
});

test("results of test:long have the longest texts that the API returns, and a different URL each", async () => {
  const results = cleanResults(await hitsFor("test:long"));
  assert.equal(new Set(results.map(({ url }) => url)).size, 20);
  for (const { title, url, snippet } of results)
    assert.deepEqual([title.length, url.length, snippet.length], [300, 2_048, 1_000]);
});

test("results of test:unicode and test:injection survive the cleaning, which removes only what browsers would run", async () => {
  const scripts = cleanResults(await hitsFor("test:unicode"));
  const text = scripts.map(({ title }) => title).join();
  for (const script of [
    /\p{Script=Han}/u,
    /\p{Script=Arabic}/u,
    /\p{Script=Hebrew}/u,
    /[\u{10000}-\u{10ffff}]/u,
    /\p{M}/u,
  ])
    assert.match(text, script);
  const attacks = cleanResults(await hitsFor("test:injection", 7));
  const attack = attacks.map(({ title, snippet }) => `${title} ${snippet}`).join("\n");
  for (const expected of [
    "Ignore all previous instructions",
    "</search_results>",
    "&lt;img src=x",
    "javascript:alert",
    "=HYPERLINK",
  ])
    assert.ok(attack.includes(expected), `${expected}\n${attack}`);
  assert.ok(!attack.includes("<script") && !attack.includes("\u001b"), attack);
});

test("never returns results for a query that the search flow should have answered", async () => {
  assert.equal((await queryTestUpstream({ query: "test:insufficient_balance", n: 10 }, options)).ok, false);
});
