import { formatUsd, type Micros } from "./money.ts";

/** What the callers of a key can choose as the budget of a run. The ledger enforces the budget that they chose. */
export interface MaxRun {
  maxMicros: Micros;
  /** Every search must name a run. */
  isRequired: boolean;
}

/** Why a search with this run, or with none, is refused. `runMax` is the budget that the caller named. */
export function findRunRule(maxRun: MaxRun | undefined, runMax: Micros | undefined): string | undefined {
  if (!maxRun) return undefined;
  const limit = `\`max\` of at most ${formatUsd(maxRun.maxMicros)} USD`;
  if (runMax === undefined) return maxRun.isRequired ? `is required by this key, with a ${limit}` : undefined;
  if (runMax <= maxRun.maxMicros) return undefined;
  return `must have a ${limit}, the limit of this key, but it is ${formatUsd(runMax)}`;
}
