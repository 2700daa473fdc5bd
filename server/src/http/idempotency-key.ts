import { Problem } from "../problems/problems.ts";

/** The caller's Idempotency-Key. Quotes around it are optional and not part of the key. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw invalidHeader("Idempotency-Key", "must be 1 to 255 printable ASCII characters");
  return key;
}

export function invalidHeader(name: string, rule: string): Problem {
  return new Problem("invalid_request", {
    detail: `The ${name} header is invalid: ${rule}. You were not charged.`,
    members: { errors: [{ pointer: "#", code: "invalid_header", detail: `${name}: ${rule}` }] },
  });
}
