const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" });
const hour = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" });

/** "Nov 15" or "Nov 15, 14:00", in UTC. */
export function formatBucket(start: string, by: "hour" | "day"): string {
  const date = new Date(start);
  return by === "day" ? day.format(date) : `${day.format(date)}, ${hour.format(date)}`;
}

/** Short label for the axis. */
export function formatTick(start: string, by: "hour" | "day", days: number): string {
  return by === "hour" && days === 1 ? hour.format(new Date(start)) : formatBucket(start, by);
}
