import assert from "node:assert/strict";
import { test } from "node:test";
import { readFixture, switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { you } from "./you.ts";

const provider = switchOn(you);

test("sends a query that is too long for a URL as POST", () => {
  const short = provider.request({ query: "cats & dogs", n: 20 }, 1);
  assert.equal(short.method, "GET");
  assert.equal(short.url, "https://upstream.example:8443/prefix/search?query=cats+%26+dogs&count=20");

  const query = "\u{1F600}".repeat(2048);
  const long = provider.request({ query, n: 20 }, 1);
  assert.equal(long.method, "POST");
  assert.equal(long.url, "https://upstream.example:8443/prefix/search");
  assert.deepEqual(JSON.parse(long.body ?? ""), { query, count: 20 });
});

test("uses the description if there is no snippet, and ignores news", () => {
  const parsed = provider.response(readFixture("you", "ok"));
  assert.deepEqual(parsed.ok && parsed.hits.map(({ snippet }) => snippet), [
    "Locks whose meaning the application defines are called advisory locks.",
    "How to see which session holds a lock and which one waits for it.",
    "The functions that take and release advisory locks, by session or by transaction.",
  ]);
});

test("sends the domains of a source policy as JSON, one list at a time", () => {
  const sentFor = (sources: SourcePolicy) => provider.request({ query: "cats", n: 20, sources }, 1);
  const allowed = sentFor({ only: ["a.example"], block: [] });
  assert.equal(allowed.method, "POST");
  assert.deepEqual(JSON.parse(allowed.body ?? ""), { query: "cats", count: 20, include_domains: ["a.example"] });
  const excluded = sentFor({ block: ["a.example"] });
  assert.deepEqual(JSON.parse(excluded.body ?? ""), { query: "cats", count: 20, exclude_domains: ["a.example"] });
});
