const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });

/** "Nov 15" or "Nov 15, 14:00", in UTC as the counting is. */
export function formatStep(start: string, by: "hour" | "day"): string {
  const moment = new Date(start);
  return by === "day" ? day.format(moment) : `${day.format(moment)}, ${hour.format(moment)}`;
}

/** The shortest that tells steps apart on an axis. */
export function formatTick(start: string, by: "hour" | "day", days: number): string {
  return by === "hour" && days === 1 ? hour.format(new Date(start)) : formatStep(start, by);
}
