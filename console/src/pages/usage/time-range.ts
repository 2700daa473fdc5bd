export const spans = [
  { value: "24h", label: "24 hours", days: 1 },
  { value: "7d", label: "7 days", days: 7 },
  { value: "30d", label: "30 days", days: 30 },
  { value: "90d", label: "90 days", days: 90 },
  { value: "12m", label: "12 months", days: 365 },
] as const;

export type Span = (typeof spans)[number]["value"];

/** How far back, and in what steps: hours for a month at most, days for more than one day. */
export function readSpan(
  span: string | undefined,
  by: string | undefined,
): { span: Span; days: number; by: "hour" | "day" } {
  const chosen = spans.find(({ value }) => value === span) ?? spans[2];
  const { value, days } = chosen;
  if (days === 1) return { span: value, days, by: "hour" };
  return { span: value, days, by: by === "hour" && days <= 30 ? "hour" : "day" };
}

/** The first moment of it: the same all hour or day long, so that it is not read again each second. */
export function beginOf({ days, by }: { days: number; by: "hour" | "day" }, now: Date): string {
  const hour = Math.floor(now.getTime() / 3_600_000) * 3_600_000;
  if (days === 1) return new Date(hour - 23 * 3_600_000).toISOString();
  const today = Math.floor(now.getTime() / 86_400_000) * 86_400_000;
  const begin = new Date(today - (days - 1) * 86_400_000).toISOString();
  return by === "day" ? begin.slice(0, 10) : begin;
}
