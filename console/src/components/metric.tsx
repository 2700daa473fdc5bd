import { Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./figure.module.css";

/** One number that people watch: what it is, how much, what that means, and its last hours as a line. */
export function Figure(props: {
  label: string;
  value: ReactNode;
  note?: ReactNode;
  tone?: "plain" | "warning" | "danger";
  line?: readonly number[];
  isLoading?: boolean;
}) {
  const { label, value, note, tone = "plain", line, isLoading = false } = props;
  return (
    <div className={classes.figure}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      {isLoading ? (
        <Skeleton height={32} width="60%" my={4} />
      ) : (
        <div className={classes.value} data-tone={tone}>
          {value}
        </div>
      )}
      {note !== undefined && !isLoading && (
        <Text size="sm" c="dimmed" className={classes.note}>
          {note}
        </Text>
      )}
      {line !== undefined && line.length > 1 && <Sparkline values={line} />}
    </div>
  );
}

/** Drawn by hand: a chart library is not needed for one line without axes. Said in words beside it. */
function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(...values, 1e-9);
  const step = 120 / (values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(26 - (value / most) * 24).toFixed(1)}`);
  return (
    <svg className={classes.line} viewBox="0 0 120 28" preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,28 ${points.join(" ")} 120,28`} className={classes.area} />
      <polyline points={points.join(" ")} className={classes.stroke} />
    </svg>
  );
}
