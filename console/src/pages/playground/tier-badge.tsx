import { type RankExplanation, tierDescriptions } from "./parse-explanation.ts";
import classes from "./playground.module.css";

const tones = { A: "good", B: "good", C: "plain", N: "plain", D: "weak", E: "weak" } as const;

export function TierBadge({ reason }: { reason: RankExplanation }) {
  const { tier, reason: why } = reason;
  return (
    <span className={classes.tier} data-tone={tones[tier]} title={tierDescriptions[tier]}>
      <strong>{tier}</strong> {why}
    </span>
  );
}
