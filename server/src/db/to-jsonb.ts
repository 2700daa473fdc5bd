/**
 * Encodes the value of a jsonb parameter. PostgreSQL rejects half of a surrogate pair in it, so each becomes U+FFFD, as in a text
 * parameter. Undefined fields are dropped.
 */
export function toJsonb(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => (typeof each === "string" ? each.toWellFormed() : each));
}
