import type { RankExplanation } from "@pennyblack/sdk";
import classes from "./tier-badge.module.css";

const tones = { A: "good", B: "good", C: "plain", N: "plain", D: "weak", E: "weak" } as const;
const tierNames = {
  A: "Primary source",
  B: "Established source",
  C: "Reputable source",
  N: "Neutral source",
  D: "Weak evidence",
  E: "Lowest tier",
} as const;

/** The authority of a source in the ranking, with the reason of the rule unless no rule lists it. */
export function TierBadge({ tier, reason }: Pick<RankExplanation, "tier" | "reason">) {
  return (
    <span className={classes.tier} data-tone={tones[tier]}>
      <strong>{tier}</strong> {tierNames[tier]}
      {reason !== "unlisted" && `: ${reason.replaceAll("-", " ")}`}
    </span>
  );
}
