import assert from "node:assert/strict";
import { test } from "node:test";
import { rank } from "../server/src/ranking/rank.ts";
import { systemOf } from "./candidates.ts";
import { chosenGuards } from "./order-candidate.ts";
import { buildLensesOrThrow, readLensFiles } from "./read-lenses.ts";
import { readRelevance } from "./read-relevance.ts";

const lenses = buildLensesOrThrow(readLensFiles());
const { knownItem, handWritten } = readRelevance();

test("with the chosen guards, candidates are ordered as by the server", () => {
  const system = systemOf(chosenGuards);
  for (const category of [null, "programming"]) {
    const lens = lenses.get(category ?? "base");
    for (const { query, results } of [...knownItem, ...handWritten])
      assert.deepEqual(system({ query, category }, results), rank({ results, query, lens, n: 10 }), query);
  }
});
