import type { RankExplanation } from "@pennyblack/sdk";

// Repeats the arithmetic of docs/ranking.md.

const authorities = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 } as const;

/** Rel and Auth. A site named in the query has an Auth of 0.90 or 1; which one follows from its score. */
export function explainScore(explanation: RankExplanation, lambda: number): { rel: number; auth: number } {
  const rel = 21 / (20 + explanation.upstreamRank);
  const auth: number = authorities[explanation.tier];
  if (!explanation.guards.includes("navigational") || auth === 1) return { rel, auth };
  const solved = (explanation.score - (1 - lambda) * rel) / lambda;
  return { rel, auth: solved > 0.95 ? 1 : 0.9 };
}
