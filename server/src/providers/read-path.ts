import { isJsonObject } from "./parse-json-object.ts";

/** What lies at the end of a path through objects and lists, or undefined: an upstream promises no shape. */
export function readPath(value: unknown, ...path: (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof step === "number") current = Array.isArray(current) ? (current[step] as unknown) : undefined;
    else current = isJsonObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}
