/**
 * Seconds to wait according to a Retry-After header (RFC 9110, 10.2.3), which holds either seconds or a date.
 * A date that has passed is 0. Anything else, as from an upstream that sends `soon`, is as if nothing had been said.
 */
export function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  // Date.parse alone would read `-5` and `1.5` as dates in 2001.
  if (!/^[A-Z][a-z]{2,8},? /.test(value)) return undefined;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, Math.ceil((dateMs - nowMs) / 1000));
}
