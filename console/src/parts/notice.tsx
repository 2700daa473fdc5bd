import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./notice.module.css";

/** Something that a person must know or do, at the head of a page. */
export function Notice(props: { tone: "warning" | "danger"; title: string; children: ReactNode; action?: ReactNode }) {
  const { tone, title, children, action } = props;
  return (
    <div className={classes.notice} data-tone={tone} role="status">
      <Text size="sm" className={classes.text}>
        <strong className={classes.title}>{title}</strong> {children}
      </Text>
      {action}
    </div>
  );
}
