import type { UsageGroup } from "../../api/usage-group.ts";
import type { Pivot } from "./pivot.ts";
import { seriesColor } from "./series-color.ts";
import classes from "./usage.module.css";

export function Legend({ table, group }: { table: Pivot; group: UsageGroup | undefined }) {
  return (
    <ul className={classes.legend} aria-label="Legend">
      {table.series.map(({ name }, index) => (
        <li key={name}>
          <span className={classes.swatch} style={{ background: seriesColor(index, group) }} />
          {name}
        </li>
      ))}
    </ul>
  );
}
