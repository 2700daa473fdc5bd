/** The viewer's choice: the zone of the browser, or UTC. */
export type TimeZone = "local" | "utc";

const exactStyle = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  timeZoneName: "short",
} as const;
const exact = {
  local: new Intl.DateTimeFormat("en", exactStyle),
  utc: new Intl.DateTimeFormat("en", { ...exactStyle, timeZone: "UTC" }),
};
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** How often a page updates the time that relative times are compared with. Data can be newer by as much. */
export const clockIntervalMs = 15_000;

/** "3 minutes ago", "in 2 days". */
export function formatRelative(date: Date, now: Date): string {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1_000);
  if (seconds > -5 && seconds <= clockIntervalMs / 1_000) return "just now";
  const [unit, size] = steps.find(([, minSeconds]) => Math.abs(seconds) >= minSeconds) ?? ["second", 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

/** "Nov 16, 2026, 14:02:03 UTC". */
export function formatExact(date: Date, zone: TimeZone = "local"): string {
  return exact[zone].format(date);
}

const preciseStyle = { ...exactStyle, fractionalSecondDigits: 3 } as const;
const precise = {
  local: new Intl.DateTimeFormat("en", preciseStyle),
  utc: new Intl.DateTimeFormat("en", { ...preciseStyle, timeZone: "UTC" }),
};

/** "Nov 16, 2026, 14:02:03.120 UTC". */
export function formatPrecise(date: Date, zone: TimeZone): string {
  return precise[zone].format(date);
}

/** "UTC", "EST" or "GMT+1". */
export function formatZone(zone: TimeZone, at: Date): string {
  return exact[zone].formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** "about 6 days", "more than a year". */
export function formatDays(days: number): string {
  if (days >= 365) return "more than a year";
  if (days >= 2) return `about ${Math.round(days)} days`;
  const hours = Math.round(days * 24);
  if (hours >= 2) return `about ${hours} hours`;
  return hours === 1 ? "about 1 hour" : "less than an hour";
}

export function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

const plain = new Intl.NumberFormat("en");

export function formatCount(count: number, singular: string, plural: string = `${singular}s`): string {
  return `${plain.format(count)} ${count === 1 ? singular : plural}`;
}

export function formatPercent(ratio: number): string {
  // Round down: 99.96 % must not read as 100 %.
  const percent = Math.floor(ratio * 1_000) / 10;
  return `${percent.toFixed(percent === 100 || percent === 0 ? 0 : 1)} %`;
}

const utcDay = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** Formats the UTC day "2026-11-15" as "Nov 15". */
export function formatDay(day: string): string {
  return utcDay.format(new Date(`${day}T00:00:00Z`));
}
