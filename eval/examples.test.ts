// Pages written by us, as examples of what the lenses are meant to do. They show that a change broke something; they
// are no evidence that the ranking is good. That is what `npm run eval` measures.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createRanking } from "../server/src/ranking/ranking.ts";
import { mustBuild, readLensFiles } from "./read-lenses.ts";

interface Example {
  name: string;
  query: string;
  category?: string;
  /** In the upstream's order. */
  results: { url: string; title?: string; snippet?: string }[];
  /** In the order expected. What is not named may stand anywhere. */
  expected: string[];
}

const examples = JSON.parse(readFileSync(new URL("./examples.json", import.meta.url), "utf8")) as Example[];
const lenses = mustBuild(readLensFiles());
const ranking = createRanking(() => lenses);

for (const { name, expected, ...question } of examples) {
  test(name, () => {
    const { results, explain } = ranking.rank({ ...question, n: 20 });
    const found = results.map(({ url }) => url).filter((url) => expected.includes(url));
    assert.deepEqual(found, expected, explain());
  });
}

test("every lens of the service can be read, says its reasons in words, and extends the base", () => {
  assert.deepEqual([...lenses.keys()].toSorted(), ["base", "business", "gov", "programming", "research"]);
  for (const lens of lenses.values()) assert.ok(lens.ruleCount > 1_000 && lens.lambda > 0 && lens.lambda < 1);
});
