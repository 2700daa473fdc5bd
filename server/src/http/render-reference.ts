// The API reference as a page of Markdown, made from openapi.json alone: what is not described there is not promised.

interface Schema {
  type?: string | string[];
  const?: string | number | boolean;
  enum?: (string | number)[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: string | number | boolean;
  minimum?: number;
  maximum?: number;
}

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: Schema;
}

interface Content {
  schema?: Schema;
  examples?: Record<string, unknown>;
}

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  security?: unknown;
  "x-required-scope"?: string;
  parameters: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, { description: string }> };
}

/** The first that fits a path is its chapter. */
const chapters: [title: string, paths: RegExp][] = [
  ["Search", /^\/v1\/search$/],
  ["Wallet", /^\/v1\/wallet(?!\/(?:auto-)?top-up)/],
  ["Top-ups", /^\/v1\/wallet/],
  ["Usage", /^\/v1\/(?:usage|searches|runs)/],
  ["Keys", /^\/v1\/key/],
  ["Webhooks", /^\/v1\/webhooks/],
  ["Ranking rules", /^\/v1\/lenses/],
  ["Everything else", /^/],
];

export function renderReference({ paths, components }: OpenapiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return [
    "<!-- Generated from the routes of the server by `npm run generate`. -->",
    "# API reference",
    "The same facts as `/openapi.json`, for people. Bodies are JSON, money is a decimal string in USD, times are ISO 8601 in UTC. Send the key as `Authorization: Bearer <API_KEY>` or as `x-api-key`.",
    "Every refusal charges nothing and has the shape that [Errors and retries](errors.md) describes.",
    "## Headers of an answer",
    table(
      ["Header", "Says"],
      Object.entries(components.headers).map(([name, { description }]) => [code(name), description]),
    ),
    ...chapters.flatMap(([title]) => {
      const own = operations.filter(({ path }) => chapterOf(path) === title);
      return own.length === 0 ? [] : [`## ${title}`, ...own.flatMap(renderOperation)];
    }),
    "",
  ].join("\n\n");
}

function chapterOf(path: string): string | undefined {
  return chapters.find(([, paths]) => paths.test(path))?.[0];
}

function renderOperation({ path, method, operation }: { path: string; method: string; operation: Operation }) {
  const { summary, description, parameters, requestBody, responses } = operation;
  const [status = "", answer] = Object.entries(responses).find(([key]) => key.startsWith("2")) ?? [];
  const [mediaType = "", content] = Object.entries(answer?.content ?? {})[0] ?? [];
  const body = requestBody?.content["application/json"]?.schema;
  return [
    `### ${summary}`,
    code(`${method} ${path}`),
    description,
    `Key: ${keyOf(operation)}.`,
    ...(parameters.length === 0 ? [] : [table(["Parameter", "In", "Is"], parameters.map(describeParameter))]),
    ...(body ? ["Body:", fieldTable(body)] : []),
    ...describeAnswer(status, mediaType, content?.schema),
    ...refusals(responses),
  ];
}

function keyOf(operation: Operation): string {
  if (!operation.security) return "none needed";
  const scope = operation["x-required-scope"];
  return scope === undefined ? "any" : `one with the scope ${code(scope)}`;
}

function describeParameter({ name, in: place, description, schema }: Parameter): string[] {
  return [code(name), place, description ?? describe(schema)];
}

function describeAnswer(status: string, mediaType: string, schema: Schema | undefined): string[] {
  if (schema === undefined || fieldsOf(schema).length === 0) return [`Answer: ${status}, ${code(mediaType)}.`];
  return [`Answer: ${status}.`, fieldTable(schema)];
}

function refusals(responses: Operation["responses"]): string[] {
  const codes = Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.["application/problem+json"]?.examples ?? {}),
  );
  return codes.length === 0
    ? []
    : [`Refusals: ${codes.map((name) => `[${code(name)}](problems/${name}.md)`).join(", ")}.`];
}

function fieldTable(schema: Schema): string {
  return table(["Field", "Is"], fieldsOf(schema));
}

/** One row for each field, those of objects within it after it, with their way there. */
function fieldsOf(schema: Schema, way = ""): string[][] {
  const { properties = {}, required = [] } = unwrap(schema);
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = unwrap(field);
    const row = [code(way + name), describe(field, required.includes(name) ? [] : ["optional"])];
    const isList = inner.type === "array";
    return [row, ...fieldsOf(isList ? (inner.items ?? {}) : inner, `${way}${name}${isList ? "[]" : ""}.`)];
  });
}

/** What a field is when it is not null. */
function unwrap(schema: Schema): Schema {
  const real = schema.anyOf?.filter(({ type }) => type !== "null");
  return real?.length === 1 && real[0] ? unwrap(real[0]) : schema;
}

function describe(schema: Schema, more: string[] = []): string {
  const real = unwrap(schema);
  const isNullable = schema.anyOf?.some(({ type }) => type === "null") ?? false;
  const kind = real.enum ? real.enum.map((value) => code(String(value))).join(", ") : kindOf(real);
  const facts = [
    kind + (isNullable ? " or null" : ""),
    ...more,
    ...(real.minimum !== undefined && real.maximum !== undefined ? [`${real.minimum} to ${real.maximum}`] : []),
    ...(real.default === undefined ? [] : [`default ${code(String(real.default))}`]),
  ];
  const words = schema.description ?? real.description;
  return words === undefined ? facts.join(", ") : `${facts.join(", ")}. ${words}`;
}

function kindOf({ type, const: constant, anyOf, items }: Schema): string {
  if (constant !== undefined) return code(String(constant));
  if (anyOf) return [...new Set(anyOf.map((choice) => describe(choice)))].join(" or ");
  if (type === "array") return items?.enum ? `list of ${describe(items)}` : "list";
  return typeof type === "string" ? type : "any";
}

function code(text: string): string {
  return `\`${text}\``;
}

function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

/** A bar would end the cell; braces and angle brackets outside code would be read as a template. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
