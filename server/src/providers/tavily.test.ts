import assert from "node:assert/strict";
import { test } from "node:test";
import { switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import type { Category } from "./provider.ts";
import { tavily } from "./tavily.ts";

function sent(category?: Category): unknown {
  return JSON.parse(switchOn(tavily).request({ query: "cats", n: 20, category }, 1).body ?? "");
}

test("requests basic depth, and the finance topic for business", () => {
  const search = { query: "cats", max_results: 20, search_depth: "basic" };
  assert.deepEqual(sent("business"), { ...search, topic: "finance" });
  for (const category of [undefined, "programming", "research", "gov"] as const) {
    assert.deepEqual(sent(category), { ...search, topic: "general" });
  }
});

test("sends the domains of a source policy, with only before block", () => {
  const sentFor = (sources: SourcePolicy) =>
    JSON.parse(switchOn(tavily).request({ query: "cats", n: 20, sources }, 1).body ?? "") as Record<string, unknown>;
  assert.deepEqual(sentFor({ only: ["a.example"], block: [] })["include_domains"], ["a.example"]);
  assert.deepEqual(sentFor({ block: ["a.example"] })["exclude_domains"], ["a.example"]);
});
