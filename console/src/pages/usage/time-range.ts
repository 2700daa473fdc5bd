export const timeRanges = [
  { value: "24h", label: "24 hours", days: 1 },
  { value: "7d", label: "7 days", days: 7 },
  { value: "30d", label: "30 days", days: 30 },
  { value: "90d", label: "90 days", days: 90 },
  { value: "12m", label: "12 months", days: 365 },
] as const;

export type TimeRange = (typeof timeRanges)[number]["value"];

/** Parses the range and interval. Hours are available up to 30 days, days from 7 days. */
export function parseTimeRange(
  range: string | undefined,
  by: string | undefined,
): { range: TimeRange; days: number; by: "hour" | "day" } {
  const chosen = timeRanges.find(({ value }) => value === range) ?? timeRanges[2];
  const { value, days } = chosen;
  if (days === 1) return { range: value, days, by: "hour" };
  return { range: value, days, by: by === "hour" && days <= 30 ? "hour" : "day" };
}

/** Start of the range, rounded to the hour or day so that the query key stays stable. */
export function startOf({ days, by }: { days: number; by: "hour" | "day" }, now: Date): string {
  const hour = Math.floor(now.getTime() / 3_600_000) * 3_600_000;
  if (days === 1) return new Date(hour - 23 * 3_600_000).toISOString();
  const today = Math.floor(now.getTime() / 86_400_000) * 86_400_000;
  const start = new Date(today - (days - 1) * 86_400_000).toISOString();
  return by === "day" ? start.slice(0, 10) : start;
}
