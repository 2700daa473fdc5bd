const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];

/** "3 minutes ago", "in 2 days". */
export function formatRelative(date: Date, now: Date): string {
  const seconds = Math.round((date.getTime() - now.getTime()) / 1_000);
  if (Math.abs(seconds) < 5) return "just now";
  const [unit, size] = steps.find(([, minSeconds]) => Math.abs(seconds) >= minSeconds) ?? ["second", 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

/** In local time. */
export function formatExact(date: Date): string {
  return exact.format(date);
}

export function formatDays(days: number): string {
  if (days >= 365) return "more than a year";
  if (days >= 2) return `${Math.round(days)} days`;
  const hours = Math.round(days * 24);
  if (hours >= 2) return `${hours} hours`;
  return hours === 1 ? "1 hour" : "less than an hour";
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
