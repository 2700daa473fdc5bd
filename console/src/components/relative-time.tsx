import { clockIntervalMs, formatExact, formatPrecise, formatRelative } from "../format/format-time.ts";
import { useNow } from "./use-now.ts";
import { useTimeZone } from "./use-time-zone.ts";

/** "3 minutes ago", with the exact time as a tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const date = new Date(at);
  const now = useNow(clockIntervalMs);
  const { zone } = useTimeZone();
  return (
    <time dateTime={at} title={formatExact(date, zone)}>
      {formatRelative(date, now)}
    </time>
  );
}

/** "Nov 16, 2026, 14:02:03 UTC", with the relative time as a tooltip. */
export function ExactTime(props: { at: string; hasMs?: boolean; className?: string | undefined }) {
  const { at, hasMs = false, className } = props;
  const date = new Date(at);
  const now = useNow(clockIntervalMs);
  const { zone } = useTimeZone();
  return (
    <time dateTime={at} title={formatRelative(date, now)} className={className}>
      {hasMs ? formatPrecise(date, zone) : formatExact(date, zone)}
    </time>
  );
}
