import { Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./welcome.module.css";

export function Step(props: { number: number; title: string; isDone?: boolean; children: ReactNode }) {
  const { number, title, isDone = false, children } = props;
  return (
    <li className={classes.step} data-done={isDone || undefined}>
      <span className={classes.number} aria-hidden="true">
        {isDone ? "✓" : number}
      </span>
      <div className={classes.body}>
        <Title order={2} mb={8}>
          {title}
          {isDone && <span className="visually-hidden">, done</span>}
        </Title>
        {children}
      </div>
    </li>
  );
}
