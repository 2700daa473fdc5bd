import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { searxngAt } from "../../test/searxng-at.ts";
import type { UpstreamReply } from "./provider.ts";

const provider = searxngAt("https://search.example.org/searx");

function fixture(name: string): UpstreamReply {
  const { status, headers, body } = JSON.parse(
    readFileSync(new URL(`fixtures/searxng/${name}.json`, import.meta.url), "utf8"),
  );
  return { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

function sentQuery(query: string): string | null {
  return new URL(provider.request({ query, n: 10 }, 1).url).searchParams.get("q");
}

test("asks the instance under its own path for one page of JSON", () => {
  assert.deepEqual(provider.request({ query: "c++ & node.js", n: 10 }, 2), {
    method: "GET",
    url: "https://search.example.org/searx/search?format=json&q=c%2B%2B+%26+node.js&pageno=2&categories=general",
    headers: {},
  });
});

test("a category chooses engines and leaves the query alone", () => {
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

test("no word of the query is a command, wherever it stands", () => {
  assert.equal(sentQuery("!!g cats"), "'!!g cats");
  assert.equal(sentQuery("!!"), "'!!");
  assert.equal(sentQuery(":de rust"), "':de rust");
  assert.equal(sentQuery("css !important  :hover"), "css '!important  ':hover");
  assert.equal(sentQuery("i <3 you ?wp"), "i '<3 you '?wp");
  assert.equal(sentQuery("cats\u00A0!g"), "cats\u00A0'!g");
  assert.equal(sentQuery('"never say !never"'), '"never say \'!never"');
});

test("a query without commands is sent as it is", () => {
  for (const query of ["what? really!", "std::vector a!=b 3<5", "site:example.org 'quoted'"]) {
    assert.equal(sentQuery(query), query);
  }
});

test("a query too long for a request line is posted", () => {
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

test("hits keep the instance's order, and silent engines beside hits are no failure", () => {
  const parsed = provider.response(fixture("ok"));
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

test("a search that found nothing is an answer", () => {
  assert.deepEqual(provider.response(fixture("empty")), { ok: true, hits: [], more: false });
});

test("an empty answer from failed engines is a failure, so nobody pays for it", () => {
  assert.deepEqual(provider.response(fixture("engines-failed")), { ok: false, reason: "invalid_response" });
});

test("items that cannot be read are skipped and missing texts are empty", () => {
  assert.deepEqual(provider.response(fixture("malformed")), {
    ok: true,
    more: true,
    hits: [
      { title: "", url: "https://example.org/no-texts", snippet: "" },
      { title: "", url: "https://example.org/wrong-texts", snippet: "" },
    ],
  });
});

test("a list of which no item can be read is a failure, not an empty answer", () => {
  const body = JSON.stringify({ results: [{ link: "https://example.org/", heading: "another format" }] });
  assert.deepEqual(provider.response({ status: 200, headers: {}, body }), { ok: false, reason: "invalid_response" });
});

test("its limiter throttles us, and JSON switched off is a plain 403", () => {
  assert.deepEqual(provider.response(fixture("throttled")), { ok: false, reason: "throttled" });
  assert.deepEqual(provider.response(fixture("json-off")), { ok: false, reason: "status" });
});

test("no body makes it throw", () => {
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.json().map((json) => `{"results": ${json}, "unresponsive_engines": ${json}}`),
  );
  fc.assert(
    fc.property(body, fc.constantFrom(200, 400, 401, 403, 500), (text, status) => {
      assert.equal(typeof provider.response({ status, headers: {}, body: text }).ok, "boolean");
    }),
  );
});
