import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./notice.module.css";

export function Notice(props: {
  title: string;
  tone?: "plain" | "success" | "warning" | "danger";
  children?: ReactNode;
  action?: ReactNode;
}) {
  const { title, tone = "plain", children, action } = props;
  return (
    <div className={classes.notice} data-tone={tone} role="status">
      <div className={classes.text}>
        <Text fw={600} className={classes.title}>
          {title}
        </Text>
        {typeof children === "string" ? <Text size="sm">{children}</Text> : children}
      </div>
      {action}
    </div>
  );
}
