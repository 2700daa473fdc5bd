import assert from "node:assert/strict";
import { test } from "node:test";
import { readFixture, switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { exa } from "./exa.ts";
import type { Category } from "./provider.ts";

const provider = switchOn(exa);

function sent(category?: Category): unknown {
  return JSON.parse(provider.request({ query: "cats", n: 12, category }, 1).body ?? "");
}

test("requests highlights, and publications for research", () => {
  const search = { query: "cats", numResults: 12, contents: { highlights: true } };
  assert.deepEqual(sent("research"), { ...search, category: "publication" });
  for (const category of [undefined, "programming", "gov", "business"] as const) {
    assert.deepEqual(sent(category), search);
  }
});

test("uses the best highlight as the snippet and keeps pages without a title", () => {
  const parsed = provider.response(readFixture("exa", "ok"));
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.hits[1], {
    title: "",
    url: "https://wiki.postgresql.org/wiki/Lock_Monitoring",
    snippet: "How to see which session holds a lock and which one waits for it.",
  });
});

test("each result above ten adds to the cost", () => {
  assert.deepEqual(
    [1, 10, 11, 20].map((n) => provider.costMicros(n)),
    [7_000n, 7_000n, 8_000n, 17_000n],
  );
});

test("sends the domains of a source policy", () => {
  const sentFor = (sources: SourcePolicy) =>
    JSON.parse(provider.request({ query: "cats", n: 12, sources }, 1).body ?? "") as Record<string, unknown>;
  assert.deepEqual(sentFor({ only: ["a.example"], block: [] })["includeDomains"], ["a.example"]);
  assert.deepEqual(sentFor({ block: ["a.example"] })["excludeDomains"], ["a.example"]);
});
