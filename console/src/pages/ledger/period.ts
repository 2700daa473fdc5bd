export const periods = [
  { value: "all", label: "All time" },
  { value: "today", label: "Today" },
  { value: "7d", label: "7 days" },
  { value: "month", label: "This month" },
  { value: "last-month", label: "Last month" },
  { value: "dates", label: "Custom" },
] as const;

export type Period = (typeof periods)[number]["value"];

/** The UTC days of a period. `to` is exclusive, as in the API. */
export function toDays(
  period: Period,
  dates: { from?: string; to?: string },
  now: Date,
): { from?: string; to?: string } {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (period) {
    case "all":
      return {};
    case "today":
      return { from: toDay(year, month, day) };
    case "7d":
      return { from: toDay(year, month, day - 6) };
    case "month":
      return { from: toDay(year, month, 1) };
    case "last-month":
      return { from: toDay(year, month - 1, 1), to: toDay(year, month, 1) };
    case "dates":
      return {
        ...(isDay(dates.from) && { from: dates.from }),
        // Users expect the last day to be included.
        ...(isDay(dates.to) && { to: dayAfter(dates.to) }),
      };
  }
}

export function isPeriod(text: unknown): text is Period {
  return periods.some(({ value }) => value === text);
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
}

function toDay(year: number, month: number, day: number): string {
  return new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);
}
