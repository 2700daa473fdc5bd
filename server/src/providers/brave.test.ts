import assert from "node:assert/strict";
import { test } from "node:test";
import { readFixture, switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { brave } from "./brave.ts";

const provider = switchOn(brave);

test("requests all web results in one call, with or without a category", () => {
  const call = provider.request({ query: "c++ & node.js", n: 20, category: "gov" }, 1);
  assert.equal(
    call.url,
    "https://upstream.example:8443/prefix/web/search?q=c%2B%2B+%26+node.js&count=20&result_filter=web&text_decorations=false",
  );
});

test("reads the per-second reset when throttled and the monthly reset when the quota is spent", () => {
  assert.deepEqual(provider.response(readFixture("brave", "throttled")), {
    ok: false,
    reason: "throttled",
    retryAfterSeconds: 1,
  });
  assert.deepEqual(provider.response(readFixture("brave", "empty-account")), {
    ok: false,
    reason: "account_empty",
    retryAfterSeconds: 1_419_704,
  });
});

test("ignores a reset that is missing, zero or not a number, and a single one for the monthly quota", () => {
  for (const reset of ["", "0, 0", "soon", "-1", "1.5"]) {
    const reply = { ...readFixture("brave", "throttled"), headers: { "x-ratelimit-reset": reset } };
    assert.deepEqual(provider.response(reply), { ok: false, reason: "throttled", retryAfterSeconds: undefined });
  }
  const reply = { ...readFixture("brave", "empty-account"), headers: { "x-ratelimit-reset": "1" } };
  assert.deepEqual(provider.response(reply), { ok: false, reason: "account_empty", retryAfterSeconds: undefined });
});

test("sends a source policy as rules that discard all other sites, or the blocked ones", () => {
  const rulesFor = (sources: SourcePolicy) =>
    new URL(provider.request({ query: "cats", n: 20, sources }, 1).url).searchParams.get("goggles");
  assert.equal(rulesFor({ only: ["a.example", "b.example"], block: [] }), "$discard\n$site=a.example\n$site=b.example");
  assert.equal(rulesFor({ block: ["a.example", "b.example"] }), "$discard,site=a.example\n$discard,site=b.example");
});
