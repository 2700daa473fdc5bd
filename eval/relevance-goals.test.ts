import assert from "node:assert/strict";
import { test } from "node:test";
import { evaluateRelevance } from "./evaluate-relevance.ts";
import { readLensFiles } from "./read-lenses.ts";
import { readRelevance } from "./read-relevance.ts";
import { createSystems, upstreamOrder } from "./systems.ts";

// The goals of docs/decisions/0031-relevance-guard.md. The half of the hand-written queries that is held back is not used.

const maxLoss = 0.02;
const minChangedOrder = 0.2;

test("the base lens loses less than 0.02 of MRR and of success at 3, and still changes the order", () => {
  const { knownItem, handWritten } = readRelevance();
  const base = createSystems(readLensFiles()).find(({ name }) => name === "base lens");
  assert.ok(base !== undefined);
  for (const queries of [knownItem, handWritten]) {
    const { mrr, success3, changedOrder } = evaluateRelevance(queries, {
      system: base.system,
      upstream: upstreamOrder,
      category: null,
    });
    assert.ok(mrr.change.low > -maxLoss, `MRR: ${mrr.change.low}`);
    assert.ok(success3.change.low > -maxLoss, `success at 3: ${success3.change.low}`);
    assert.ok(changedOrder >= minChangedOrder, `order changes: ${changedOrder}`);
  }
});
