const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const date = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dateUtc = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });

/** "14:02" of today, "13 Nov 14:02" of another day, in the viewer's zone. */
export function formatClock(moment: Date, now: Date): string {
  const time = clock.format(moment);
  return moment.toDateString() === now.toDateString() ? time : `${date.format(moment)}, ${time}`;
}

/** "2026-11-15", a day of UTC, as "Nov 15". */
export function formatDay(day: string): string {
  return dateUtc.format(new Date(`${day}T00:00:00Z`));
}
