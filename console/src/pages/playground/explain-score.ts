import type { RankExplanation } from "@pennyblack/sdk";

// Repeats the arithmetic of docs/ranking.md.

const authorities = { A: 1, B: 0.8, C: 0.65, N: 0.4, D: 0.25, E: 0.1 } as const;
const raisedAuthorities = new Map([
  ["exact-name", 1],
  ["navigational", 0.9],
  ["home-page", 0.8],
]);

/** Rel, Auth and their weighted sum. The score differs from the sum if a guard limited or raised it. */
export function explainScore(
  { upstreamRank, tier, guards }: RankExplanation,
  lambda: number,
): { rel: number; auth: number; sum: number } {
  const rel = 21 / (20 + upstreamRank);
  const auth = Math.max(authorities[tier], ...guards.map((guard) => raisedAuthorities.get(guard) ?? 0));
  return { rel, auth, sum: (1 - lambda) * rel + lambda * auth };
}
