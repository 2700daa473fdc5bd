// Hand-written regression examples for the lenses. They do not show that the ranking is good; `npm run eval` measures
// that.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createRanking } from "../server/src/ranking/ranking.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";

interface Example {
  name: string;
  query: string;
  category?: string;
  /** In upstream order. */
  results: { url: string; title?: string; snippet?: string }[];
  /** Expected order. Results not listed can be anywhere. */
  expected: string[];
}

const examples = JSON.parse(readFileSync(new URL("./examples.json", import.meta.url), "utf8")) as Example[];
const lenses = buildLensesOrThrow(readLensFiles());
const ranking = createRanking(() => lenses);

for (const { name, expected, ...request } of examples) {
  test(name, () => {
    const { results, explain } = ranking.rank({ ...request, n: 20 });
    const found = results.map(({ url }) => url).filter((url) => expected.includes(url));
    assert.deepEqual(found, expected, explain());
  });
}

test("every lens builds, extends the base rules and has a valid lambda", () => {
  assert.deepEqual([...lenses.keys()].toSorted(), ["base", "business", "gov", "programming", "research"]);
  for (const lens of lenses.values()) assert.ok(lens.ruleCount > 5_000 && lens.lambda > 0 && lens.lambda < 1);
});
