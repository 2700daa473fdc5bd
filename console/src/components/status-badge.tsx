import type { ReactNode } from "react";
import classes from "./status-badge.module.css";

export type Tone = "success" | "warning" | "danger" | "neutral";

/** A label with a colored dot. The color only repeats what the label says. */
export function StatusBadge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={classes.status} data-tone={tone}>
      {children}
    </span>
  );
}

const modes = { live: "live", test: "test", mgmt: "management" } as const;

export function ModeBadge({ mode }: { mode: keyof typeof modes }) {
  return (
    <span className={classes.mode} data-mode={mode}>
      {modes[mode]}
    </span>
  );
}
