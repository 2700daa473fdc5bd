import type { RankExplanation } from "@pennyblack/sdk";
import classes from "./playground.module.css";

const tones = { A: "good", B: "good", C: "plain", N: "plain", D: "weak", E: "weak" } as const;
const tierNames = {
  A: "Primary source",
  B: "Established source",
  C: "Reputable source",
  N: "Neutral source",
  D: "Weak evidence",
  E: "Lowest tier",
} as const;

export function TierBadge({ rank }: { rank: RankExplanation }) {
  const { tier, reason } = rank;
  return (
    <span className={classes.tier} data-tone={tones[tier]}>
      <strong>{tier}</strong> {tierNames[tier]}
      {reason !== "unlisted" && `: ${reason.replaceAll("-", " ")}`}
    </span>
  );
}
