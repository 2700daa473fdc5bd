import { formatZone, type TimeZone } from "../../format/format-time.ts";

const dayStyle = { day: "numeric", month: "short" } as const;
const hourStyle = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const utc = { timeZone: "UTC" };
const days = new Intl.DateTimeFormat("en", { ...dayStyle, ...utc });
const hours = {
  local: new Intl.DateTimeFormat("en", hourStyle),
  utc: new Intl.DateTimeFormat("en", { ...hourStyle, ...utc }),
};
const daysAndHours = {
  local: new Intl.DateTimeFormat("en", { ...dayStyle, ...hourStyle }),
  utc: new Intl.DateTimeFormat("en", { ...dayStyle, ...hourStyle, ...utc }),
};

/** "Nov 15" or "Nov 15, 14:00". Days are UTC days in both zones, as in budgets and the API. */
export function formatBucket(start: string, by: "hour" | "day", zone: TimeZone): string {
  return (by === "day" ? days : daysAndHours[zone]).format(new Date(start));
}

/** The zone of `formatBucket`. */
export function formatBucketZone(start: string, by: "hour" | "day", zone: TimeZone): string {
  return formatZone(by === "day" ? "utc" : zone, new Date(start));
}

/** Short label for the axis. */
export function formatTick(start: string, view: { by: "hour" | "day"; days: number; zone: TimeZone }): string {
  const { by, days: range, zone } = view;
  return by === "hour" && range === 1 ? hours[zone].format(new Date(start)) : formatBucket(start, by, zone);
}

/** Whether the hour or day ends after `asOf`, so that its figures can still grow. */
export function isPartial(start: string, by: "hour" | "day", asOf: string): boolean {
  return Date.parse(start) + bucketMs[by] > Date.parse(asOf);
}

export const bucketMs = { hour: 3_600_000, day: 86_400_000 };
