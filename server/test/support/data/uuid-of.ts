import { randomUUIDv7 } from "node:crypto";

/** A UUIDv7 with the given timestamp. */
export function uuidOf(timeMs: number): string {
  const prefix = timeMs.toString(16).padStart(12, "0");
  return `${prefix.slice(0, 8)}-${prefix.slice(8)}${randomUUIDv7().slice(13)}`;
}
