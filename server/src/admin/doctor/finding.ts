/** A fault of the installation. Errors risk money, data or availability; the command then exits with 1. */
export interface Finding {
  severity: "error" | "warning";
  problem: string;
  /** The next step. */
  fix: string;
}

export function error(problem: string, fix: string): Finding {
  return { severity: "error", problem, fix };
}

export function warning(problem: string, fix: string): Finding {
  return { severity: "warning", problem, fix };
}

/** Drops the results of conditions that did not apply. */
export function findingsOf(...found: (Finding | false | undefined)[]): Finding[] {
  return found.filter((finding) => typeof finding === "object");
}
