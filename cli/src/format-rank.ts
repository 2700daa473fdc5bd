import { describeRank, type RankExplanation } from "@pennyblack/sdk";
import { sanitize } from "./terminal.ts";

/** One paragraph that explains why a result has its rank. */
export function formatRank(explanation: RankExplanation, sources: readonly string[]): string {
  const { move, tier, adjustments } = describeRank(explanation, { sources });
  return sanitize([move, tier, ...adjustments, `Score: ${explanation.score.toFixed(3)}.`].join(" "));
}
