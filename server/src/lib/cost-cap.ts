import type { Micros } from "./money.ts";

/** A limit on the cost of a provider per UTC day or month. */
export interface CostCap {
  amount: Micros;
  period: "day" | "month";
}

/** "2030-01-31" or "2030-01". */
export function periodOf({ period }: CostCap, nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, period === "day" ? 10 : 7);
}

export function endOfPeriod({ period }: CostCap, nowMs: number): number {
  const date = new Date(nowMs);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return period === "day" ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1);
}
