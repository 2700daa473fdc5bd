// Checks a value against the part of JSON Schema that pennyblack.schema.json uses. check-schema.test.ts compares it with Ajv.

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  type?: "object" | "array" | "string" | "integer" | "boolean" | "null";
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  minProperties?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/** The faults of a value, each with its path, such as `keys[0].name must be a string`. */
export function checkSchema(root: Schema, value: unknown): string[] {
  return check(value, root, "", root.$defs ?? {});
}

type Definitions = Record<string, Schema>;

function check(value: unknown, schema: Schema, path: string, definitions: Definitions): string[] {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace("#/$defs/", "");
    return check(value, definitions[name] ?? {}, path, definitions);
  }
  if (schema.anyOf) {
    // Of null and one other schema.
    if (value === null && schema.anyOf.some(({ type }) => type === "null")) return [];
    const other = schema.anyOf.find(({ type }) => type !== "null");
    return other ? check(value, other, path, definitions) : [fault(path, "must be null")];
  }
  if (schema.type !== undefined && typeOf(value) !== schema.type)
    return [fault(path, `must be ${describeType(schema.type)}`)];
  if (schema.enum && !schema.enum.includes(value))
    return [fault(path, `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`)];
  if (typeof value === "string") return checkText(value, schema, path);
  if (typeof value === "number") return checkNumber(value, schema, path);
  if (Array.isArray(value)) return checkList(value, schema, path, definitions);
  if (typeof value === "object" && value !== null)
    return checkObject(value as Record<string, unknown>, schema, path, definitions);
  return [];
}

function checkObject(
  value: Record<string, unknown>,
  { properties = {}, required = [], additionalProperties, minProperties = 0 }: Schema,
  path: string,
  definitions: Definitions,
): string[] {
  const names = Object.keys(value);
  const known = names.filter((name) => Object.hasOwn(properties, name));
  return [
    ...required.filter((name) => !Object.hasOwn(value, name)).map((name) => fault(join(path, name), "is required")),
    ...(additionalProperties === false ? names.filter((name) => !known.includes(name)) : []).map((name) =>
      fault(join(path, name), "is not a known field"),
    ),
    ...(names.length < minProperties ? [fault(path, `must have at least ${minProperties} field`)] : []),
    ...known.flatMap((name) => check(value[name], properties[name] ?? {}, join(path, name), definitions)),
  ];
}

function checkList(
  value: unknown[],
  { items = {}, minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems }: Schema,
  path: string,
  definitions: Definitions,
): string[] {
  const isRepeated = uniqueItems && new Set(value.map((item) => JSON.stringify(item))).size < value.length;
  return [
    ...(value.length < minItems ? [fault(path, `must have at least ${minItems} entry`)] : []),
    ...(value.length > maxItems ? [fault(path, `must have at most ${maxItems} entries`)] : []),
    ...(isRepeated ? [fault(path, "must not repeat an entry")] : []),
    ...value.flatMap((item, index) => check(item, items, `${path}[${index}]`, definitions)),
  ];
}

function checkText(value: string, { minLength = 0, maxLength, pattern, ...schema }: Schema, path: string): string[] {
  const length = [...value].length;
  if (length < minLength) return [fault(path, "must not be empty")];
  if (maxLength !== undefined && length > maxLength) return [fault(path, `must have at most ${maxLength} characters`)];
  if (pattern === undefined || new RegExp(pattern, "u").test(value)) return [];
  const { description } = schema as { description?: string };
  return [fault(path, `must match ${pattern}${description === undefined ? "" : `. ${description}`}`)];
}

function checkNumber(value: number, { minimum, maximum }: Schema, path: string): string[] {
  if (minimum !== undefined && value < minimum) return [fault(path, `must be at least ${minimum}`)];
  if (maximum !== undefined && value > maximum) return [fault(path, `must be at most ${maximum}`)];
  return [];
}

function typeOf(value: unknown): Schema["type"] | "number" {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value as "object" | "string" | "boolean";
}

function describeType(type: NonNullable<Schema["type"]>): string {
  return (
    { object: "an object", array: "a list", string: "a string", integer: "a whole number" }[type as string] ?? type
  );
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function fault(path: string, rule: string): string {
  return `${path === "" ? "The file" : path} ${rule}`;
}
