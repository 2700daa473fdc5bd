import type { IncomingMessage } from "node:http";
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Problem } from "../../problems/problems.ts";
import { type Fault, invalidInput } from "./faults.ts";
import { findDuplicateKey } from "./find-duplicate-key.ts";
import { findJsonFault } from "./find-json-fault.ts";
import { readBody } from "./read-body.ts";
import { assertSupported, findSchemaFaults } from "./schema-faults.ts";

/**
 * Returns a reader for bodies that match the schema, which should forbid additional properties. Values are never coerced,
 * and every mismatch is reported with its JSON Pointer.
 */
export function jsonReader<Schema extends TSchema>(
  schema: Schema,
): (request: IncomingMessage) => Promise<Static<Schema>> {
  assertSupported(schema);
  const validator = Compile(schema);
  return async function readJson(request) {
    const body = parseJson(await readBody(request));
    const unsafe = findUnsafe(body, "", 0);
    if (unsafe) throw invalidInput([unsafe]);
    if (validator.Check(body)) return body;
    throw invalidInput(describeFaults(schema, body));
  };
}

/** `Check` has rejected the body, so there is at least one fault. */
export function describeFaults(schema: TSchema, body: unknown, aliases?: Readonly<Record<string, string>>): Fault[] {
  const faults = findSchemaFaults(schema, body, aliases);
  return faults.length > 0
    ? faults
    : [{ pointer: "#", code: "invalid", detail: "does not match its schema in /openapi.json" }];
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

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Parses a body, or throws a problem: malformed_json, or invalid_request for a key that appears twice. */
export function parseJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw malformedJson(text, cause);
  }
  const duplicate = findDuplicateKey(text);
  if (duplicate === undefined) return body;
  throw invalidInput([
    { pointer: `#${duplicate.slice(0, 100)}`, code: "duplicate_key", detail: "appears more than once" },
  ]);
}

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    // Invalid bytes become U+FFFD, so the first byte that differs is the first invalid one.
    const replaced = Buffer.from(bytes.toString());
    const offset = bytes.findIndex((byte, index) => byte !== replaced[index]);
    throw malformedProblem(`The request body is not valid UTF-8 at byte ${offset + 1}`, "Encode it as UTF-8", cause);
  }
}

function malformedJson(text: string, cause: unknown): Problem {
  const { line, column, detail } = findJsonFault(text) ?? { line: 1, column: 1, detail: "it cannot be parsed" };
  if (text.trim() === "") return malformedProblem("The request body is empty", "Send a JSON object", cause);
  const fault = `The request body is not valid JSON at line ${line}, column ${column}: ${detail}`;
  return malformedProblem(fault, "Send a single JSON object", cause);
}

function malformedProblem(fault: string, advice: string, cause: unknown): Problem {
  return new Problem("malformed_json", {
    values: { fault, advice },
    members: { errors: [{ pointer: "#", code: "malformed_json", detail: fault }] },
    cause,
  });
}
