import type { UsageGroup } from "../../api/usage.ts";

// Of outcomes the largest is mostly "answered"; what went wrong is amber and grey beside it.
const outcomeOrder = [0, 4, 2, 6, 5, 3, 1];

export function colorOf(index: number, group: UsageGroup | undefined): string {
  return `var(--series-${group === "outcome" ? (outcomeOrder[index] ?? index) : index})`;
}
