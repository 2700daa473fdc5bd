import type { RankExplanation } from "@pennyblack/sdk";
import { sanitize } from "./terminal.ts";

const tiers: Record<RankExplanation["tier"], string> = {
  A: "a primary source",
  B: "an established source",
  C: "a reputable source",
  N: "a neutral source",
  D: "weak evidence",
  E: "in the lowest tier",
};

const guards: Record<string, string> = {
  navigational: "The query names this site, which raises its authority to at least 0.90.",
  anchor: "The upstream's first result never falls below rank 3.",
  copy: "Its text is nearly the same as that of a result with a better score, so it was moved to the end.",
  "third-of-site": "Two results with a better score are from the same site, so it was moved to the end.",
};

/** Explains in sentences why a result has its rank. docs/ranking.md defines the terms. */
export function describeRank({
  position,
  upstreamRank,
  tier,
  reason,
  score,
  guards: applied,
}: RankExplanation): string {
  const source =
    reason === "unlisted"
      ? `No rule lists this page, so it counts as ${tiers[tier]} (tier ${tier}).`
      : `The page is ${tiers[tier]} (tier ${tier}) because of the rule "${sanitize(reason).replaceAll("-", " ")}".`;
  const details = applied.map((guard) => guards[guard] ?? `The guard "${sanitize(guard)}" applied.`);
  return [describeMove(position, upstreamRank), source, ...details, `Score: ${score.toFixed(3)}.`].join(" ");
}

function describeMove(position: number, upstreamRank: number): string {
  if (position === upstreamRank) return `Rank ${position}, the same as at the upstream.`;
  return `Rank ${position}, ${position < upstreamRank ? "up" : "down"} from ${upstreamRank} at the upstream.`;
}
