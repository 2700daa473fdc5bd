import type { IncomingMessage } from "node:http";
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Problem } from "../problems/problems.ts";
import { findDuplicateKey } from "./find-duplicate-key.ts";
import { readBody } from "./read-body.ts";

export interface Fault {
  /** A JSON Pointer such as #/name. */
  pointer: string;
  code: string;
  detail: string;
}

/**
 * Returns a reader for bodies that match the schema, which should forbid additional properties. Values are never coerced,
 * and every mismatch is reported with its JSON Pointer.
 */
export function jsonReader<Schema extends TSchema>(
  schema: Schema,
): (request: IncomingMessage) => Promise<Static<Schema>> {
  const validator = Compile(schema);
  return async function readJson(request) {
    const body = parseJson(await readBody(request));
    const unsafe = findUnsafe(body, "", 0);
    if (unsafe) throw invalidInput([unsafe]);
    if (validator.Check(body)) return body;
    const faults = new Map<string, Fault>();
    const parents = new Set<string>();
    for (const error of validator.Errors(body)) {
      // Report each field once, and not the parent of an unknown field.
      if (error.keyword === "additionalProperties" || faults.has(error.instancePath)) continue;
      if (error.keyword === "type") parents.add(error.instancePath);
      const pointer = `#${error.instancePath.slice(0, 100)}`;
      const isUnknown = error.keyword === "boolean";
      const detail = isUnknown ? "is not a known field" : error.message;
      faults.set(error.instancePath, { pointer, code: isUnknown ? "unknown_field" : "invalid", detail });
    }
    const paths = [...faults.keys()];
    // "Must be null" for a field that can also be an object is misleading when the fault is inside the object.
    for (const parent of parents) if (paths.some((path) => path.startsWith(`${parent}/`))) faults.delete(parent);
    throw invalidInput([...faults.values()].slice(0, 20));
  };
}

/** Far deeper than any valid body. A schema that compares values would recurse until the stack overflows. */
const maxDepth = 16;

/** Checks that no schema expresses: PostgreSQL text cannot contain NUL, and nesting must not exhaust the stack. */
function findUnsafe(value: unknown, path: string, depth: number): Fault | undefined {
  const pointer = `#${path.slice(0, 100)}`;
  if (typeof value === "string" && value.includes("\0"))
    return { pointer, code: "invalid", detail: "must not contain a NUL character" };
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === maxDepth) return { pointer, code: "invalid", detail: "is nested too deeply" };
  for (const [name, member] of Object.entries(value)) {
    const unsafe = findUnsafe(member, `${path}/${name}`, depth + 1);
    if (unsafe) return unsafe;
  }
  return undefined;
}

export function invalidInput(errors: Fault[]): Problem {
  const faults = errors.map(({ pointer, detail }) => `${pointer.slice(2) || "the body"} ${detail}`).join("; ");
  return new Problem("invalid_request", {
    detail: `${faults}. You were not charged. Correct the request and send it again.`,
    members: { errors },
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Parses a body, or throws a problem: malformed_json, or invalid_request for a key that appears twice. */
export function parseJson(bytes: Buffer): unknown {
  let text: string;
  let body: unknown;
  try {
    text = decoder.decode(bytes);
    body = JSON.parse(text);
  } catch (cause) {
    throw new Problem("malformed_json", {
      members: { errors: [{ pointer: "#", code: "malformed_json", detail: "not valid UTF-8 JSON" }] },
      cause,
    });
  }
  const duplicate = findDuplicateKey(text);
  if (duplicate === undefined) return body;
  throw invalidInput([
    { pointer: `#${duplicate.slice(0, 100)}`, code: "duplicate_key", detail: "appears more than once" },
  ]);
}
