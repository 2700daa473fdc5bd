import type { ReactNode } from "react";
import classes from "./state-word.module.css";

export type Tone = "success" | "warning" | "danger" | "quiet";

/** A state: a word, and a dot for those who skim. The colour says nothing that the word does not. */
export function StateWord({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={classes.state} data-tone={tone}>
      {children}
    </span>
  );
}

const modes = { live: "live", test: "test", mgmt: "management" } as const;

/** Test is amber, as everywhere. */
export function ModeWord({ mode }: { mode: keyof typeof modes }) {
  return (
    <span className={classes.mode} data-mode={mode}>
      {modes[mode]}
    </span>
  );
}
