/**
 * Parses a Retry-After header (RFC 9110, 10.2.3), which contains seconds or a date. A past date is 0. Any other value is
 * ignored.
 */
export function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  // Date.parse alone would parse `-5` and `1.5` as dates in 2001.
  if (!/^[A-Z][a-z]{2,8},? /.test(value)) return undefined;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, Math.ceil((dateMs - nowMs) / 1000));
}
