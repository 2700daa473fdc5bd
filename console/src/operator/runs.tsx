import { formatCount, formatExact } from "../format/format-time.ts";
import classes from "./operator.module.css";

interface Run {
  at: string;
  differences: number;
}

/** A tick per reconciliation, oldest first. */
export function Runs({ runs }: { runs: readonly Run[] }) {
  const clean = runs.filter(({ differences }) => differences === 0).length;
  return (
    <span
      className={classes.runs}
      role="img"
      aria-label={`${clean} of the last ${formatCount(runs.length, "reconciliation")} found no differences`}
    >
      {runs.map(({ at, differences }) => (
        <span
          key={at}
          className={classes.run}
          data-differs={differences > 0}
          title={`${formatExact(new Date(at))}: ${formatCount(differences, "difference")}`}
        />
      ))}
    </span>
  );
}
