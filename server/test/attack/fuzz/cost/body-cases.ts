import { maxBodyBytes } from "../../../../src/http/input/read-body.ts";
import type { FuzzOperation } from "../fuzz-operation.ts";
import type { Schema } from "../schema-values.ts";
import { anyTexts, urlTexts } from "./adversarial-texts.ts";
import type { CostCase } from "./find-costly-cases.ts";
import { type CostInput, inJson, manyNames, requestCase } from "./request-case.ts";

export function* bodyCases(operation: FuzzOperation): Generator<CostCase<CostInput>> {
  if (!operation.body) return;
  const schema = operation.body;
  const limit = maxBodyBytes - 200;
  const inBody = (part: string, body: (size: number) => string, max = limit): CostCase<CostInput> =>
    requestCase(operation, part, max, (size) => ({ body: body(size) }));
  for (const { path, schema: field } of fieldsOf(schema)) {
    const set = (value: unknown): string => JSON.stringify(withField(regularBody(schema), path, value));
    const name = path.join(".");
    const texts = /url|return_to/.test(name) ? { ...anyTexts, ...urlTexts } : anyTexts;
    for (const [kind, build] of Object.entries(texts)) {
      yield inBody(`the field ${name} of ${kind}`, (size) => set(build(size, inJson)));
      const { maxLength } = field;
      if (maxLength === undefined || maxLength >= limit) continue;
      const fitting = (size: number): string => [...build(size, (text) => [...text].length)].slice(0, size).join("");
      yield inBody(`the field ${name} of ${kind}, within its length`, (size) => set(fitting(size)), maxLength);
    }
    yield inBody(`the field ${name} of many items`, (size) =>
      set(manyNames(["item"], size, (text) => text.length + 3)),
    );
    yield inBody(`the field ${name} nested`, (size) =>
      set("\0").replace('"\\u0000"', `${"[".repeat(size / 2)}${"]".repeat(size / 2)}`),
    );
    if (field.type === "array" && field.maxItems !== undefined) {
      const itemLength = field.items?.maxLength ?? 60;
      const items = (size: number): string[] =>
        Array.from({ length: size }, (_, index) => String(index).padEnd(itemLength, "abc"));
      yield inBody(
        `the field ${name} of long items`,
        (size) => set(items(size)),
        Math.min(field.maxItems, Math.floor(limit / (itemLength + 3))),
      );
    }
  }
  const known = Object.keys(schema.properties ?? {});
  const withNames = (names: readonly string[]): string => JSON.stringify(Object.fromEntries(names.map((n) => [n, 1])));
  yield inBody("unknown fields", (size) => withNames(manyNames(["a"], size, (name) => name.length + 5)));
  yield inBody("fields like known ones", (size) => withNames(manyNames(known, size, (name) => name.length + 5)));
  yield inBody("a repeated field", (size) => `{${'"a":1,'.repeat(size / 6)}"a":1}`);
  yield inBody("long names", (size) => withNames(manyNames(["n".repeat(1_000)], size, (name) => name.length + 5)));
  for (const [kind, text] of Object.entries({
    brackets: "[",
    braces: '{"a":',
    "line feeds": "\n",
    quotes: '"\\"',
    commas: ",",
  }))
    yield inBody(`a body of ${kind}`, (size) => text.repeat(size / text.length));
}

interface Field {
  path: string[];
  schema: Schema;
}

/** The fields of a body and of the objects in it. */
function fieldsOf(schema: Schema, parents: string[] = []): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = [...parents, name];
    const node = property.anyOf?.find(({ type }) => type !== "null") ?? property;
    return [{ path, schema: node }, ...fieldsOf(node, path)];
  });
}

/** The required fields with simple values. */
function regularBody({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  const value = ({ type, enum: choices }: Schema): unknown => {
    if (choices) return choices[0];
    if (type === "integer") return 1;
    return type === "array" ? [] : "cats";
  };
  return Object.fromEntries(required.map((name) => [name, value(properties[name] ?? {})]));
}

function withField(body: Record<string, unknown>, [name = "", ...rest]: string[], value: unknown): object {
  return { ...body, [name]: rest.length === 0 ? value : withField({}, rest, value) };
}
