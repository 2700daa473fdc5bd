import type { IncomingMessage } from "node:http";
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { Problem } from "../problems.ts";
import { readBody } from "./read-body.ts";

export interface Fault {
  /** A JSON Pointer such as #/name. */
  pointer: string;
  code: string;
  detail: string;
}

/**
 * A reader of bodies that fit the schema, which should forbid additional properties: whatever does not fit is refused
 * with its place, and nothing is coerced.
 */
export function jsonReader<Schema extends TSchema>(
  schema: Schema,
): (request: IncomingMessage) => Promise<Static<Schema>> {
  const validator = Compile(schema);
  return async function readJson(request) {
    const body = parseJson(await readBody(request));
    const unfit = findUnfit(body, "", 0);
    if (unfit) throw invalidInput([unfit]);
    if (validator.Check(body)) return body;
    const faults = new Map<string, Fault>();
    const parents = new Set<string>();
    for (const error of validator.Errors(body)) {
      // One line for each place is enough, and the parent of a wrong member is not itself at fault.
      if (error.keyword === "additionalProperties" || faults.has(error.instancePath)) continue;
      if (error.keyword === "type") parents.add(error.instancePath);
      const pointer = `#${error.instancePath.slice(0, 100)}`;
      const isUnknown = error.keyword === "boolean";
      const detail = isUnknown ? "is not a field" : error.message;
      faults.set(error.instancePath, { pointer, code: isUnknown ? "unknown_field" : "invalid", detail });
    }
    const places = [...faults.keys()];
    // "Must be null" of a place that may also hold an object says nothing when the fault lies inside that object.
    for (const place of parents) if (places.some((each) => each.startsWith(`${place}/`))) faults.delete(place);
    throw invalidInput([...faults.values()].slice(0, 20));
  };
}

/** Far beyond any body of ours. A schema that compares values would follow the rest until the stack ends. */
const deepest = 16;

/** What no schema says: that texts have to fit into the database, which takes no zero character, and values on a stack. */
function findUnfit(value: unknown, place: string, depth: number): Fault | undefined {
  const pointer = `#${place.slice(0, 100)}`;
  if (typeof value === "string" && value.includes("\0"))
    return { pointer, code: "invalid", detail: "must not hold a zero character" };
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === deepest) return { pointer, code: "invalid", detail: "is nested too deeply" };
  for (const [name, member] of Object.entries(value)) {
    const unfit = findUnfit(member, `${place}/${name}`, depth + 1);
    if (unfit) return unfit;
  }
  return undefined;
}

export function invalidInput(errors: Fault[]): Problem {
  const places = errors.map(({ pointer, detail }) => `${pointer.slice(2) || "the body"} ${detail}`).join("; ");
  return new Problem("invalid_request", {
    detail: `${places}. Nothing was changed or charged. Correct it and send it again.`,
    members: { errors },
  });
}

const decoder = new TextDecoder("utf-8", { fatal: true });

export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    throw new Problem("malformed_json", {
      members: { errors: [{ pointer: "#", code: "malformed_json", detail: "not valid UTF-8 JSON" }] },
      cause,
    });
  }
}
