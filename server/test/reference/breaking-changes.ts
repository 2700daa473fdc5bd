import { resolveReferences } from "../../src/api-docs/resolve-references.ts";

// Compares two versions of openapi.json under the rules of docs/stability.md.

interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Response {
  headers?: Record<string, unknown>;
  content?: Record<string, { schema?: Schema }>;
}

interface Operation {
  "x-required-scope"?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: Record<string, Response>;
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
}

/** Who writes the value. A request must accept what it accepted; a response must contain what it contained. */
type Direction = "request" | "response";

/** The changes that could break a client of the older version. */
export function findBreakingChanges(older: OpenapiDocument, newer: OpenapiDocument): string[] {
  const [before, after] = [resolveReferences(withoutErrors(older)), resolveReferences(withoutErrors(newer))];
  return Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const place = `${method.toUpperCase()} ${path}`;
      const successor = after.paths[path]?.[method];
      return successor === undefined ? [`${place} was removed`] : compareOperations(place, operation, successor);
    }),
  );
}

/** Errors can get new codes and members, and their schema is most of the document. */
function withoutErrors(document: OpenapiDocument): OpenapiDocument {
  const paths: OpenapiDocument["paths"] = {};
  for (const [path, methods] of Object.entries(document.paths)) {
    paths[path] = {};
    for (const [method, operation] of Object.entries(methods)) {
      const responses = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
      paths[path][method] = { ...operation, responses: Object.fromEntries(responses) };
    }
  }
  return { ...document, paths };
}

function compareOperations(place: string, before: Operation, after: Operation): string[] {
  const scope = "x-required-scope";
  return [
    ...(before[scope] === after[scope] ? [] : [`${place} requires another scope`]),
    ...compareParameters(place, before.parameters ?? [], after.parameters ?? []),
    ...compareContent(`${place} request`, before.requestBody?.content, after.requestBody?.content, "request"),
    ...Object.entries(before.responses).flatMap(([status, response]) =>
      compareResponses(`${place} ${status}`, response, after.responses[status]),
    ),
  ];
}

function compareParameters(place: string, before: readonly Parameter[], after: readonly Parameter[]): string[] {
  const find = (list: readonly Parameter[], { name, in: location }: Parameter): Parameter | undefined =>
    list.find((other) => other.name === name && other.in === location);
  const removed = before.filter((parameter) => find(after, parameter) === undefined);
  const required = after.filter((parameter) => parameter.required && find(before, parameter)?.required !== true);
  return [
    ...removed.map(({ name }) => `${place} parameter ${name} was removed`),
    ...required.map(({ name }) => `${place} parameter ${name} became required`),
    ...before.flatMap((parameter) => {
      const schema = find(after, parameter)?.schema;
      return schema ? compareSchemas(`${place} parameter ${parameter.name}`, parameter.schema, schema, "request") : [];
    }),
  ];
}

function compareResponses(place: string, before: Response, after: Response | undefined): string[] {
  if (after === undefined) return [`${place} was removed`];
  const headers = Object.keys(before.headers ?? {}).filter((name) => !Object.hasOwn(after.headers ?? {}, name));
  return [
    ...headers.map((name) => `${place} header ${name} was removed`),
    ...compareContent(place, before.content, after.content, "response"),
  ];
}

type Content = Response["content"];

function compareContent(place: string, before: Content, after: Content, direction: Direction): string[] {
  if (before === undefined) return after !== undefined && direction === "request" ? [`${place} became required`] : [];
  return Object.entries(before).flatMap(([mediaType, { schema = {} }]) => {
    const successor = after?.[mediaType];
    return successor === undefined
      ? [`${place} ${mediaType} was removed`]
      : compareSchemas(place, schema, successor.schema ?? {}, direction);
  });
}

function compareSchemas(place: string, before: Schema, after: Schema, direction: Direction): string[] {
  const [old, now] = [shapeOf(before), shapeOf(after)];
  const isRequest = direction === "request";
  const [narrow, wide] = isRequest ? [old, now] : [now, old];
  return [
    ...(isSubset(narrow.types, wide.types) ? [] : [`${place} has another type`]),
    // A response can get new values: clients must accept unknown ones.
    ...(isRequest && now.values !== undefined && !isSubset(old.values, now.values) ? [`${place} lost a value`] : []),
    ...(isRequest && isNarrower(before, after) ? [`${place} has a narrower range`] : []),
    ...Object.keys(old.properties).flatMap((name) => {
      const property = now.properties[name];
      if (property === undefined) return [`${place} ${name} was removed`];
      return compareSchemas(`${place} ${name}`, old.properties[name] ?? {}, property, direction);
    }),
    ...(isRequest
      ? [...now.required].filter((name) => !old.required.has(name)).map((name) => `${place} ${name} became required`)
      : [...old.required]
          .filter((name) => name in now.properties && !now.required.has(name))
          .map((name) => `${place} ${name} became optional`)),
    ...(old.items && now.items ? compareSchemas(`${place}[]`, old.items, now.items, direction) : []),
  ];
}

/** A schema with the members of all its parts. */
interface Shape {
  types: Set<string>;
  /** Undefined if every value of the type is allowed. */
  values: Set<unknown> | undefined;
  properties: Record<string, Schema>;
  required: Set<string>;
  items: Schema | undefined;
}

function shapeOf(schema: Schema): Shape {
  const parts = (schema.allOf ?? []).map(shapeOf);
  const choices = (schema.anyOf ?? []).map(shapeOf);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  const all = [...parts, ...choices];
  const requiredByEvery = choices.reduce<Set<string> | undefined>(
    (common, { required }) => common?.intersection(required) ?? required,
    undefined,
  );
  const others = choices.filter(({ types }) => !types.has("null"));
  const single = others.length === 1 ? others[0] : undefined;
  return {
    types: new Set<string>([schema.type ?? [], ...all.map(({ types }) => [...types])].flat()),
    values: values ? new Set(values) : single?.values,
    properties: Object.assign({}, schema.properties, ...all.map(({ properties }) => properties)) as Shape["properties"],
    required: new Set([
      ...(schema.required ?? []),
      ...parts.flatMap(({ required }) => [...required]),
      ...(single?.required ?? requiredByEvery ?? []),
    ]),
    items: schema.items ?? all.find(({ items }) => items !== undefined)?.items,
  };
}

function isSubset(inner: Set<unknown> | undefined, outer: Set<unknown>): boolean {
  return inner?.isSubsetOf(outer) ?? false;
}

function isNarrower(before: Schema, after: Schema): boolean {
  const lower = ["minimum", "minLength"] as const;
  const upper = ["maximum", "maxLength", "maxItems"] as const;
  return (
    lower.some((name) => (after[name] ?? -Infinity) > (before[name] ?? -Infinity)) ||
    upper.some((name) => (after[name] ?? Infinity) < (before[name] ?? Infinity))
  );
}
