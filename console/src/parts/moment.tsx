import { formatExact, formatRelative } from "../words/format-time.ts";
import { useNow } from "./use-now.ts";

/** How long ago or until when; the exact time on hover, in the viewer's zone. */
export function Moment({ at }: { at: string }) {
  const moment = new Date(at);
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={formatExact(moment)}>
      {formatRelative(moment, now)}
    </time>
  );
}
