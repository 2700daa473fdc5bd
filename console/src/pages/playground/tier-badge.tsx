import classes from "./playground.module.css";
import { type Reason, tierWords } from "./read-explanation.ts";

const tones = { A: "good", B: "good", C: "plain", N: "plain", D: "weak", E: "weak" } as const;

/** How much standing the source has, and by which rule. */
export function TierBadge({ reason }: { reason: Reason }) {
  const { tier, why } = reason;
  return (
    <span className={classes.tier} data-tone={tones[tier]} title={tierWords[tier]}>
      <strong>{tier}</strong> {why}
    </span>
  );
}
