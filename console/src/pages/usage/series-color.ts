import type { UsageGroup } from "../../api/usage-group.ts";

// The largest outcome is usually "completed"; failures are amber and gray.
const outcomeOrder = [0, 4, 2, 6, 5, 3, 1];

export function seriesColor(index: number, group: UsageGroup | undefined): string {
  return `var(--series-${group === "outcome" ? (outcomeOrder[index] ?? index) : index})`;
}
