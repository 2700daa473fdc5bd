import { fractionOf } from "../format/amounts.ts";
import { formatMoney } from "../format/format-money.ts";
import classes from "./meter.module.css";

/** Amount spent of a limit. */
export function Meter({
  spent,
  limit,
  isFull,
  label,
}: Readonly<{ spent: string; limit: string; isFull: boolean; label: string }>) {
  const share = fractionOf(spent, limit);
  return (
    <div
      className={classes.track}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(share * 100)}
      aria-valuetext={`${formatMoney(spent)} of ${formatMoney(limit)}`}
    >
      <div
        className={classes.fill}
        data-tone={toneOf(share, isFull)}
        style={{ width: `${isFull ? 100 : share * 100}%` }}
      />
    </div>
  );
}

function toneOf(share: number, isFull: boolean): string {
  if (isFull) return "danger";
  return share >= 0.8 ? "warning" : "plain";
}
