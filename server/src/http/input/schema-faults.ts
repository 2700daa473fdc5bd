import {
  countCharacters,
  describeChoices,
  describeText,
  describeUnknown,
  didYouMean,
  type Fault,
  isQuotable,
  listWords,
  maxFaults,
  oneOfWords,
  toPointer,
} from "./faults.ts";
import { describePattern } from "./text-patterns.ts";

// Describes every mismatch between a body and its schema. The compiled validator decides whether a body is valid; its own
// messages are not for callers, and it stops after eight. schema-faults.test.ts checks that the two agree.

/** The keywords that request bodies use. */
export interface BodySchema {
  type?: string;
  enum?: readonly string[];
  /** Only a schema and null. */
  anyOf?: readonly BodySchema[];
  properties?: Record<string, BodySchema>;
  required?: readonly string[];
  minProperties?: number;
  items?: BodySchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

const keywords = new Set(
  (
    "type enum anyOf properties required minProperties additionalProperties items minItems maxItems uniqueItems " +
    "minimum maximum minLength maxLength pattern title description default examples"
  ).split(" "),
);

/** Fails when the server starts, so that no caller gets an error without a description. */
export function assertSupported(schema: object): void {
  const { pattern, anyOf = [], properties = {}, items } = schema as BodySchema;
  const unknown = Object.keys(schema).find((keyword) => !keyword.startsWith("~") && !keywords.has(keyword));
  if (unknown !== undefined) throw new Error(`the schema keyword ${unknown} has no description`);
  if (pattern !== undefined && !describePattern(pattern)) throw new Error(`the pattern ${pattern} has no description`);
  for (const part of [...anyOf, ...Object.values(properties), ...(items ? [items] : [])]) assertSupported(part);
}

/** `aliases` maps unknown field names that other APIs use to ours. */
export function findSchemaFaults(
  schema: BodySchema,
  body: unknown,
  aliases: Readonly<Record<string, string>> = {},
): Fault[] {
  const faults: Fault[] = [];
  const context: Context = {
    add: (pointer, code, detail) => void faults.push({ pointer, code, detail }),
    isFull: () => faults.length >= maxFaults,
    aliases,
  };
  findFaults(context, schema, body, "");
  return faults.slice(0, maxFaults);
}

interface Context {
  add: (pointer: string, code: string, detail: string) => void;
  /** Bounds the work: a suggestion for each of a thousand unknown fields would take half a second. */
  isFull: () => boolean;
  aliases: Readonly<Record<string, string>>;
}

function findFaults(context: Context, schema: BodySchema, value: unknown, path: string): void {
  const isNullable = schema.anyOf?.some(({ type }) => type === "null") ?? false;
  if (isNullable && value === null) return;
  const { type, ...node } = schema.anyOf?.find((option) => option.type !== "null") ?? schema;
  const mismatch = (code: string, detail: string): void => context.add(`#${path}`, code, detail);
  if (node.enum) {
    if (typeof value !== "string")
      mismatch("wrong_type", mustBe(oneOfWords(node.enum), isNullable, describeValue(value)));
    else if (!node.enum.includes(value)) mismatch("unknown_value", describeChoices(node.enum, value));
  } else if (type !== undefined && !hasType(type, value)) {
    // A body that is a string can be the query.
    const received = path === "" && typeof value === "string" ? "a string" : describeValue(value);
    mismatch("wrong_type", mustBe(describeType({ type, ...node }), isNullable, received) + hintAtQuotes(type, value));
  } else if (typeof value === "number") {
    if (!isInRange(value, node.minimum, node.maximum)) {
      mismatch("out_of_range", mustBe(describeType({ type: "integer", ...node }), isNullable, describeValue(value)));
    }
  } else if (typeof value === "string") checkText(node, value, mismatch);
  else if (Array.isArray(value)) checkItems(context, node, value, path);
  else if (type === "object") checkFields(context, node, value as Record<string, unknown>, path);
}

function checkFields(context: Context, schema: BodySchema, value: Record<string, unknown>, path: string): void {
  const { properties = {}, required = [], minProperties = 0 } = schema;
  const known = Object.keys(properties);
  for (const name of required) {
    if (!Object.hasOwn(value, name)) context.add(toPointer(path, name), "required", "is required");
  }
  for (const [name, member] of Object.entries(value)) {
    if (context.isFull()) return;
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const pointer = toPointer(path, name);
    if (field) findFaults(context, field, member, pointer.slice(1));
    else context.add(pointer, "unknown_field", describeUnknownField(context, name, known));
  }
  if (Object.keys(value).length < minProperties) {
    context.add(`#${path}`, "required", `must have at least one of the fields ${listWords(known, "and")}`);
  }
}

const apiKeyNames = /^(?:x[-_]?)?api[-_]?key$|^(?:authorization|access_token|token|key)$/i;

function describeUnknownField({ aliases }: Context, name: string, known: readonly string[]): string {
  if (apiKeyNames.test(name)) return "is not a known field; send the API key as `Authorization: Bearer <API_KEY>`";
  const alias = Object.hasOwn(aliases, name) ? aliases[name] : undefined;
  if (alias !== undefined) return `is not a known field ${didYouMean(alias)}`;
  return describeUnknown(name, known, "field");
}

function checkItems(context: Context, schema: BodySchema, items: readonly unknown[], path: string): void {
  const { minItems = 0, maxItems = Infinity } = schema;
  if (items.length < minItems || items.length > maxItems) {
    const range = describeRange(minItems, maxItems);
    context.add(`#${path}`, "out_of_range", `must have ${range} items, but has ${items.length}`);
    return;
  }
  if (schema.uniqueItems && new Set(items.map((item) => JSON.stringify(item))).size < items.length) {
    context.add(`#${path}`, "duplicate_item", "must not contain the same item twice");
  }
  for (const [index, item] of items.entries()) {
    if (context.isFull()) return;
    if (schema.items) findFaults(context, schema.items, item, `${path}/${index}`);
  }
}

function checkText(
  { minLength = 0, maxLength = Infinity, pattern }: BodySchema,
  text: string,
  mismatch: (code: string, detail: string) => void,
): void {
  const length = [...text].length;
  if (text === "" && minLength > 0) mismatch("empty", "must not be empty");
  else if (length < minLength || length > maxLength) {
    const range = describeRange(minLength, maxLength);
    mismatch(length > maxLength ? "too_long" : "too_short", `must have ${range} characters, but has ${length}`);
  } else if (pattern !== undefined && !new RegExp(pattern, "u").test(text)) {
    mismatch("invalid", `must be ${describePattern(pattern)}, but ${describeText(text)}`);
  }
}

function isInRange(value: number, min = -Infinity, max = Infinity): boolean {
  return value >= min && value <= max;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function mustBe(expected: string, isNullable: boolean, received: string): string {
  const orNull = expected.includes(",") ? ", or null" : " or null";
  return `must be ${expected}${isNullable ? orNull : ""}, but is ${received}`;
}

function describeType({ type, minimum, maximum, pattern }: BodySchema): string {
  switch (type) {
    case "integer":
      return minimum === undefined ? "an integer" : `an integer from ${describeBounds(minimum, maximum)}`;
    case "boolean":
      return "`true` or `false`";
    case "string":
      return (pattern === undefined ? undefined : describePattern(pattern)) ?? "a string";
    case "array":
      return "an array";
    default:
      return "a JSON object";
  }
}

function describeBounds(min: number, max: number | undefined): string {
  return max === undefined ? `${min} up` : `${formatCount(min)} to ${formatCount(max)}`;
}

function describeRange(min: number, max: number): string {
  if (max === Infinity) return `at least ${formatCount(min)}`;
  return min === 0 ? `at most ${formatCount(max)}` : `${formatCount(min)} to ${formatCount(max)}`;
}

function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

function describeValue(value: unknown): string {
  if (value === "") return "an empty string";
  if (typeof value === "string")
    return isQuotable(value) ? `the string \`${value}\`` : `a string of ${countCharacters(value)}`;
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : `${value as number | boolean | null}`;
}

/** The most frequent wrong types: a number in quotes, and an amount or a flag without or with them. */
function hintAtQuotes(type: string, value: unknown): string {
  if (type === "integer" && typeof value === "string" && /^\s*-?\d+\s*$/.test(value)) return "; remove the quotes";
  if (type === "boolean" && typeof value === "string" && /^(?:true|false)$/i.test(value)) return "; remove the quotes";
  return type === "string" && typeof value === "number" ? "; put it in quotes" : "";
}
