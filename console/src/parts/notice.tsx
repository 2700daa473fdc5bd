import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./notice.module.css";

/** Something to know before the rest of the page. */
export function Notice(props: {
  title: string;
  tone?: "plain" | "success" | "warning" | "danger";
  children?: ReactNode;
}) {
  const { title, tone = "plain", children } = props;
  return (
    <div className={classes.notice} data-tone={tone} role="status">
      <Text fw={600}>{title}</Text>
      {children}
    </div>
  );
}
