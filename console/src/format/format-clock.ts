const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const dayLocal = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayUtc = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** "14:02" for today, "Nov 13, 14:02" for another day, in local time. */
export function formatClock(date: Date, now: Date): string {
  const time = clock.format(date);
  return date.toDateString() === now.toDateString() ? time : `${dayLocal.format(date)}, ${time}`;
}

/** Formats the UTC day "2026-11-15" as "Nov 15". */
export function formatDay(day: string): string {
  return dayUtc.format(new Date(`${day}T00:00:00Z`));
}
