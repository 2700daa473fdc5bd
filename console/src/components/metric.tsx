import { Skeleton, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./metric.module.css";

export function Metric(props: {
  label: string;
  value: ReactNode;
  description?: ReactNode;
  tone?: "plain" | "warning" | "danger";
  isLoading?: boolean;
}) {
  const { label, value, description, tone = "plain", isLoading = false } = props;
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
    </div>
  );
}
