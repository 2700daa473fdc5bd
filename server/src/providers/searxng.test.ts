import assert from "node:assert/strict";
import { test } from "node:test";
import { readFixture } from "../../test/support/upstreams/provider-fixtures.ts";
import { searxngAt } from "../../test/support/upstreams/searxng-at.ts";

const provider = searxngAt("https://search.example.org/searx");

function sentQuery(query: string): string | null {
  return new URL(provider.request({ query, n: 10 }, 1).url).searchParams.get("q");
}

test("requests one page of JSON under the instance's own path", () => {
  assert.deepEqual(provider.request({ query: "c++ & node.js", n: 10 }, 2), {
    method: "GET",
    url: "https://search.example.org/searx/search?format=json&q=c%2B%2B+%26+node.js&pageno=2&categories=general",
    headers: {},
  });
});

test("a category selects engines and does not change the query", () => {
  const chosen = (["programming", "research", "gov", "business"] as const).map((category) => {
    const { searchParams } = new URL(provider.request({ query: "tax", n: 10, category }, 1).url);
    return [searchParams.get("categories"), searchParams.get("q")];
  });
  assert.deepEqual(chosen, [
    ["it", "tax"],
    ["science", "tax"],
    ["general,news", "tax"],
    ["general,news", "tax"],
  ]);
});

test("escapes commands anywhere in the query", () => {
  assert.equal(sentQuery("!!g cats"), "'!!g cats");
  assert.equal(sentQuery("!!"), "'!!");
  assert.equal(sentQuery(":de rust"), "':de rust");
  assert.equal(sentQuery("css !important  :hover"), "css '!important  ':hover");
  assert.equal(sentQuery("i <3 you ?wp"), "i '<3 you '?wp");
  assert.equal(sentQuery("cats\u00A0!g"), "cats\u00A0'!g");
  assert.equal(sentQuery('"never say !never"'), '"never say \'!never"');
});

test("sends a query without commands unchanged", () => {
  for (const query of ["what? really!", "std::vector a!=b 3<5", "site:example.org 'quoted'"]) {
    assert.equal(sentQuery(query), query);
  }
});

test("sends a query that is too long for a URL as POST", () => {
  const query = "\u{1F600}".repeat(2048);
  const call = provider.request({ query, n: 10, category: "research" }, 3);
  assert.equal(call.method, "POST");
  assert.equal(call.url, "https://search.example.org/searx/search");
  assert.equal(call.headers["content-type"], "application/x-www-form-urlencoded");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(call.body)), {
    format: "json",
    q: query,
    pageno: "3",
    categories: "science",
  });
});

test("keeps the instance's order and ignores unresponsive engines if there are hits", () => {
  const parsed = provider.response(readFixture("searxng", "ok"));
  assert.deepEqual(parsed, {
    ok: true,
    more: true,
    hits: [
      {
        title: "PostgreSQL: Documentation: 15: 13.3. Explicit Locking",
        url: "https://www.postgresql.org/docs/15/explicit-locking.html",
        snippet: "PostgreSQL provides a means for creating locks that have application-defined meanings.",
      },
      {
        title: "Lock Monitoring - PostgreSQL wiki",
        url: "https://wiki.postgresql.org/wiki/Lock_Monitoring",
        snippet: "A page on how to see which sessions hold which locks.",
      },
    ],
  });
});

test("an empty result is a success", () => {
  assert.deepEqual(provider.response(readFixture("searxng", "empty")), { ok: true, hits: [], more: false });
});

test("an empty result from failed engines is a failure", () => {
  assert.deepEqual(provider.response(readFixture("searxng", "engines-failed")), {
    ok: false,
    reason: "invalid_response",
  });
});

test("skips unusable items and treats missing texts as empty", () => {
  assert.deepEqual(provider.response(readFixture("searxng", "malformed")), {
    ok: true,
    more: true,
    hits: [
      { title: "", url: "https://example.org/no-texts", snippet: "" },
      { title: "", url: "https://example.org/wrong-texts", snippet: "" },
    ],
  });
});

test("a list without usable items is a failure, not an empty result", () => {
  const body = JSON.stringify({ results: [{ link: "https://example.org/", heading: "another format" }] });
  assert.deepEqual(provider.response({ status: 200, headers: {}, body }), { ok: false, reason: "invalid_response" });
});

test("reports the limiter as throttled and a disabled JSON format as a status", () => {
  assert.deepEqual(provider.response(readFixture("searxng", "throttled")), { ok: false, reason: "throttled" });
  assert.deepEqual(provider.response(readFixture("searxng", "json-off")), { ok: false, reason: "status" });
});
