import { formatUsd, type Micros } from "./money.ts";

/** The budgets of a run that the callers of a key can choose. The ledger enforces the chosen one. */
export interface MaxRun {
  maxMicros: Micros;
  /** Every search must name a run. */
  isRequired: boolean;
}

/** The reason a search with this run, or without one, is refused. `runMax` is the budget that the caller named. */
export function findRunRule(maxRun: MaxRun | undefined, runMax: Micros | undefined): string | undefined {
  if (!maxRun) return undefined;
  const limit = `\`max\` of at most ${formatUsd(maxRun.maxMicros)} USD`;
  if (runMax === undefined) return maxRun.isRequired ? `is required by this key, with a ${limit}` : undefined;
  if (runMax <= maxRun.maxMicros) return undefined;
  return `must have a ${limit}, the limit of this key, but it is ${formatUsd(runMax)}`;
}
