import { isJsonObject } from "./parse-json-object.ts";

/** Reads a nested value. Undefined if any step is missing or has another type. */
export function readPath(value: unknown, ...path: (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof step === "number") current = Array.isArray(current) ? (current[step] as unknown) : undefined;
    else current = isJsonObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}
