import type { ReactNode } from "react";
import classes from "./scroll-region.module.css";

/** A focusable region that scrolls sideways. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section className={classes.region} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
