import assert from "node:assert/strict";
import { test } from "node:test";
import { switchOn } from "../../test/support/upstreams/provider-fixtures.ts";
import type { SourcePolicy } from "../lib/source-policy.ts";
import { perplexity } from "./perplexity.ts";
import type { Category } from "./provider.ts";

function sent(category?: Category): unknown {
  return JSON.parse(switchOn(perplexity).request({ query: "cats", n: 20, category }, 1).body ?? "");
}

test("requests short snippets, and academic sources for research", () => {
  const search = { query: "cats", max_results: 20, max_tokens_per_page: 256 };
  assert.deepEqual(sent("research"), { ...search, search_mode: "academic" });
  for (const category of [undefined, "programming", "gov", "business"] as const) {
    assert.deepEqual(sent(category), search);
  }
});

test("sends allowed domains as they are, and excluded ones with a minus", () => {
  const sentFor = (sources: SourcePolicy) =>
    JSON.parse(switchOn(perplexity).request({ query: "cats", n: 20, sources }, 1).body ?? "") as Record<
      string,
      unknown
    >;
  assert.deepEqual(sentFor({ only: ["a.example"], block: [] })["search_domain_filter"], ["a.example"]);
  assert.deepEqual(sentFor({ block: ["a.example", "b.example"] })["search_domain_filter"], [
    "-a.example",
    "-b.example",
  ]);
});
