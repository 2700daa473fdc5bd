import { formatExact, formatRelative } from "../format/format-time.ts";
import { useNow } from "./use-now.ts";

/** "3 minutes ago", with the exact local time as a tooltip. */
export function RelativeTime({ at }: { at: string }) {
  const date = new Date(at);
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={formatExact(date)}>
      {formatRelative(date, now)}
    </time>
  );
}
