import type { RankExplanation } from "@pennyblack/sdk";

// Repeats the arithmetic of docs/ranking.md.

const authorities = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 } as const;

/** Auth of a home page that the upstream ranks first, and of a site that the query names partly or completely. */
const navigationalAuthorities = [0.8, 0.9, 1];

/** Rel and Auth. Which Auth a navigational result has follows from its score. */
export function explainScore(explanation: RankExplanation, lambda: number): { rel: number; auth: number } {
  const rel = 21 / (20 + explanation.upstreamRank);
  const auth: number = authorities[explanation.tier];
  if (!explanation.guards.includes("navigational") || auth === 1) return { rel, auth };
  const solved = (explanation.score - (1 - lambda) * rel) / lambda;
  const distance = (value: number): number => Math.abs(value - solved);
  const [nearest = auth] = [auth, ...navigationalAuthorities].toSorted((a, b) => distance(a) - distance(b));
  return { rel, auth: nearest };
}
