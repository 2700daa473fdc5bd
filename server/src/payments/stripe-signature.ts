/** Stripe's SDK accepts signatures that are at most this old. https://docs.stripe.com/webhooks#verify-manually */
const toleranceSeconds = 300;
const maxLength = 1_024;

/**
 * Whether a Stripe-Signature header could be valid: well-formed, and its timestamp is recent. It is checked before the
 * body is read, so that a caller without one cannot make the server wait for a body.
 */
export function isPlausibleSignature(header: string, nowMs: number): boolean {
  if (header.length > maxLength) return false;
  const parts = header.split(",").map((part) => part.trim());
  const timestamps = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? []);
  const hasSignature = parts.some((part) => /^v1=[0-9a-f]{64}$/.test(part));
  const [timestamp] = timestamps;
  if (timestamp === undefined || timestamps.length > 1 || !hasSignature) return false;
  return Math.abs(nowMs / 1_000 - Number(timestamp)) <= toleranceSeconds;
}
