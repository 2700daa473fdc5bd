import type { ReactNode } from "react";
import classes from "./wide.module.css";

/** What may be wider than the window scrolls by itself, and the keyboard reaches it. */
export function Wide({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section className={classes.wide} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
