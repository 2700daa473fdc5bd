import { deepStrictEqual } from "node:assert";
import type { TSchema } from "typebox";

export type Json = Record<string, unknown>;

type Kind = "schemas" | "responses" | "parameters" | "examples" | "headers";

/** Collects the named parts of an OpenAPI document, so that each is described once and referenced elsewhere. */
export interface Components {
  /** Adds a component and returns a reference to it. */
  add(kind: Kind, name: string, value: Json): Json;
  /** Describes a schema. Every schema in it that has a title becomes the component of that name. */
  describeSchema(schema: TSchema): Json;
  collected: Readonly<Record<Kind, Record<string, Json>>>;
}

export function createComponents(): Components {
  const collected: Record<Kind, Record<string, Json>> = {
    schemas: {},
    responses: {},
    parameters: {},
    examples: {},
    headers: {},
  };

  function add(kind: Kind, name: string, value: Json): Json {
    const existing = collected[kind][name];
    if (existing) deepStrictEqual(value, existing, `two different ${kind} are called ${name}`);
    collected[kind][name] = value;
    return { $ref: `#/components/${kind}/${name}` };
  }

  // Routes share schemas, and some contain many others.
  const references = new Map<object, Json>();

  function describe(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(describe);
    if (typeof value !== "object" || value === null) return value;
    const known = references.get(value);
    if (known) return known;
    const described: Json = {};
    for (const [name, member] of Object.entries(value)) described[name] = describe(member);
    // TypeBox omits the type of an enum, and some generators need it.
    if (Array.isArray(described["enum"])) described["type"] = "string";
    const { title, ...unnamed } = described;
    // In the properties of an object, "title" is a field.
    if (typeof title !== "string") return described;
    const reference = add("schemas", title, unnamed);
    references.set(value, reference);
    return reference;
  }

  return { add, describeSchema: (schema) => describe(schema) as Json, collected };
}
