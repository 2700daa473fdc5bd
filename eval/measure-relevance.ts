import { evaluateRelevance, type RelevanceScore } from "./evaluate-relevance.ts";
import { readLensFiles } from "./read-lenses.ts";
import type { RelevanceQuery } from "./read-relevance.ts";
import { createSystems, upstreamOrder } from "./systems.ts";

export interface RelevanceRow {
  name: string;
  score: RelevanceScore;
}

/** All queries are about software. The other categories show the cost of a wrong category. */
const categories = ["programming", "research", "business", "gov"];

/** Every system except the oracle, with a separate row for the lens of each category. */
export function measureRelevance(queries: readonly RelevanceQuery[]): RelevanceRow[] {
  const systems = createSystems(readLensFiles()).filter(({ name }) => name !== "oracle");
  return systems.flatMap(({ name, system }) => {
    const score = (category: string | null) =>
      evaluateRelevance(queries, { system, upstream: upstreamOrder, category });
    if (name !== "category lens") return [{ name, score: score(null) }];
    return categories.map((category) => ({ name: `lens ${category}`, score: score(category) }));
  });
}
