import { readFileSync, writeFileSync } from "node:fs";

// Part of `npm run generate`: writes types.py, one type for each schema in openapi.json, and _client.py, the synchronous
// client, from _async_client.py. With --check it fails if one of them is stale.

interface Schema {
  $ref?: string;
  type?: string;
  const?: string | boolean;
  enum?: string[];
  allOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
}

const folder = new URL("src/pennyblack/", import.meta.url);
const openapi = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")) as {
  components: { schemas: Record<string, Schema> };
};
const { schemas } = openapi.components;

/** Dataclasses in _answer.py, pages of lists, problems, which are dictionaries, and internal schemas. */
const excluded =
  /^(?:Search(?:Request|Response|Result)|\w+List|UsageReport|\w*Problem(?:Base)?|OpenapiDocument|StripeEvent\w*)$/;
const maxLine = 120;
/** They cannot be the name of a member of a class. */
const keywords = new Set(["class", "for", "from", "in", "is", "lambda", "not", "with"]);

const files = {
  "types.py": renderTypes(),
  "_client.py": toSync(readFileSync(new URL("_async_client.py", folder), "utf8")),
};
for (const [name, text] of Object.entries(files)) {
  const file = new URL(name, folder);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    process.stderr.write(`Stale: clients/python/src/pennyblack/${name}. Run: npm run generate\n`);
    process.exitCode = 1;
  }
}

/** The asynchronous code without `async` and `await`, for the classes of the same names without "Async". */
function toSync(text: string): string {
  const code = text
    .replaceAll(/\basync (def|with|for)\b/g, "$1")
    .replaceAll(/\bawait /g, "")
    .replaceAll("__aenter__", "__enter__")
    .replaceAll("__aexit__", "__exit__")
    .replaceAll(/\bAsync(?=[A-Z])/g, "");
  const docstringEnd = code.indexOf('"""\n', 3) + 4;
  return `${code.slice(0, docstringEnd)}\n# Generated from _async_client.py by \`npm run generate\`.\n${code.slice(docstringEnd)}`;
}

function renderTypes(): string {
  const written = new Map<string, string>();
  for (const name of Object.keys(schemas)) if (!excluded.test(name)) write(name, schemas[name] ?? {}, written);
  const body = [...written.values()].join("\n\n\n");
  const names = ["Any", "Dict", "List", "Literal", "Optional", "TypedDict", "Union"];
  const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(body));
  return [
    '"""The resources of the API. Amounts are decimal strings in USD, times ISO 8601 strings."""',
    "",
    "# Generated from openapi.json by `npm run generate`.",
    "",
    `from typing import ${used.join(", ")}`,
    "",
    "",
    body,
    "",
  ].join("\n");
}

/** Writes a type after those that it names. */
function write(name: string, schema: Schema, written: Map<string, string>): void {
  if (written.has(name)) return;
  const [base, own] = schema.allOf ?? [];
  if (base?.$ref !== undefined && own) {
    const { description } = schema;
    const baseType = toType(base, name, written);
    written.set(name, renderClass(name, { ...own, ...(description && { description }) }, { base: baseType, written }));
  } else if (isObject(schema)) {
    written.set(name, renderClass(name, schema, { base: "TypedDict", written }));
  } else {
    const type = toType(schema, name, written);
    written.set(name, [...comment(schema.description, ""), `${name} = ${type}`].join("\n"));
  }
}

/** Before Python 3.11, required and optional members need a class each. */
function renderClass(
  name: string,
  { properties = {}, required = [], description }: Schema,
  { base, written }: { base: string; written: Map<string, string> },
): string {
  const hasKeyword = Object.keys(properties).some((field) => keywords.has(field));
  const fields = Object.entries(properties).map(([field, value]) => {
    const type = toType(value, `${name}_${field}`, written);
    const lines = [
      ...comment(value.description, "    "),
      hasKeyword ? `    "${field}": ${type},` : `    ${field}: ${type}`,
    ];
    return { isRequired: required.includes(field), text: lines.join("\n") };
  });
  const always = fields.flatMap(({ isRequired, text }) => (isRequired ? [text] : []));
  const sometimes = fields.flatMap(({ isRequired, text }) => (isRequired ? [] : [text]));
  if (hasKeyword) {
    if (base !== "TypedDict" || sometimes.length > 0) throw new Error(`${name} has a keyword, and optional members`);
    return [...comment(description, ""), `${name} = TypedDict("${name}", {`, ...always, "})"].join("\n");
  }
  const about = description === undefined ? [] : docstring(description);
  if (sometimes.length === 0) return [`class ${name}(${base}):`, ...about, ...always].join("\n");
  if (always.length === 0) return [`class ${name}(${base}, total=False):`, ...about, ...sometimes].join("\n");
  return [
    `class _Required${name}(${base}):`,
    ...always,
    `\n\nclass ${name}(_Required${name}, total=False):`,
    ...about,
    ...sometimes,
  ].join("\n");
}

function isObject({ properties = {} }: Schema): boolean {
  return Object.keys(properties).length > 0;
}

/** `owner` names an object without a name, such as Search_steps, which becomes SearchSteps. */
function toType(schema: Schema, owner: string, written: Map<string, string>): string {
  if (schema.$ref !== undefined) {
    const name = nameOf(schema.$ref);
    write(name, schemas[name] ?? {}, written);
    return name;
  }
  if (schema.allOf?.length === 1 && schema.allOf[0]) return toType(schema.allOf[0], owner, written);
  if (schema.const !== undefined) return `Literal[${toPython(schema.const)}]`;
  if (schema.enum) return `Literal${list(schema.enum.map(toPython))}`;
  if (schema.anyOf) {
    const isOptional = schema.anyOf.some(({ type }) => type === "null");
    const types = schema.anyOf.flatMap((choice) => (choice.type === "null" ? [] : [toType(choice, owner, written)]));
    const type = types.length === 1 ? types[0] : `Union${list(types)}`;
    return isOptional ? `Optional[${type}]` : `${type}`;
  }
  if (schema.items) return `List[${toType(schema.items, owner, written)}]`;
  const simple = { string: "str", integer: "int", number: "float", boolean: "bool" }[schema.type ?? ""];
  if (simple !== undefined) return simple;
  if (!isObject(schema)) return "Dict[str, Any]";
  const name = owner.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  // The description is that of the field.
  const { description: _, ...unnamed } = schema;
  write(name, unnamed, written);
  return name;
}

/** In one line, or one item per line. */
function list(items: string[]): string {
  const line = `[${items.join(", ")}]`;
  return line.length < 90 ? line : `[\n    ${items.join(",\n    ")},\n]`;
}

function toPython(value: string | boolean): string {
  if (typeof value === "string") return JSON.stringify(value);
  return value ? "True" : "False";
}

function nameOf(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

function comment(text: string | undefined, indent: string): string[] {
  return text === undefined ? [] : wrap(text, `${indent}#: `);
}

function docstring(text: string): string[] {
  const lines = wrap(text, "    ");
  if (lines.length === 1 && text.length < maxLine - 12) return [`    """${text}"""\n`];
  return ['    """', ...lines, '    """\n'];
}

function wrap(text: string, prefix: string): string[] {
  const lines: string[] = [];
  for (const word of text.replaceAll("\n", " ").split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < maxLine) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(prefix + word);
  }
  return lines;
}
