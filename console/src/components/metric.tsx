import { Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./metric.module.css";

export function Metric(props: {
  label: string;
  value: ReactNode;
  description?: ReactNode;
  tone?: "plain" | "warning" | "danger";
  trend?: readonly number[];
  isLoading?: boolean;
}) {
  const { label, value, description, tone = "plain", trend, isLoading = false } = props;
  return (
    <div className={classes.metric}>
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
      {description !== undefined && !isLoading && (
        <Text size="sm" c="dimmed" className={classes.description}>
          {description}
        </Text>
      )}
      {trend !== undefined && trend.length > 1 && <Sparkline values={trend} />}
    </div>
  );
}

/** Plain SVG, because one line without axes does not need the chart library. The text beside it has the numbers. */
function Sparkline({ values }: { values: readonly number[] }) {
  const max = Math.max(...values, 1e-9);
  const step = 120 / (values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(26 - (value / max) * 24).toFixed(1)}`);
  return (
    <svg className={classes.sparkline} viewBox="0 0 120 28" preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,28 ${points.join(" ")} 120,28`} className={classes.area} />
      <polyline points={points.join(" ")} className={classes.stroke} />
    </svg>
  );
}
