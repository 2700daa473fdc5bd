import { countCharacters, invalidHeader } from "./faults.ts";

/** The caller's Idempotency-Key. Quotes around it are optional and not part of the key. */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    const received = key === "" ? "is empty" : `has ${countCharacters(key)}`;
    throw invalidHeader("Idempotency-Key", `must have 1 to 255 printable ASCII characters, but ${received}`);
  }
  return key;
}
