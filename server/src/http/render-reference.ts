// Renders the API reference as Markdown from openapi.json.

interface Schema {
  type?: string | string[];
  const?: string | number | boolean;
  enum?: (string | number)[];
  anyOf?: Schema[];
  allOf?: Schema[];
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
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, { description: string }> };
}

/** A path belongs to the first chapter it matches. */
const chapters: [title: string, paths: RegExp][] = [
  ["Search", /^\/v1\/search$/],
  ["Wallet", /^\/v1\/wallet(?!\/(?:auto-)?top-up)/],
  ["Top-ups", /^\/v1\/wallet/],
  ["Usage", /^\/v1\/(?:usage|searches|runs)/],
  ["Keys", /^\/v1\/key/],
  ["Webhooks", /^\/v1\/webhooks/],
  ["Ranking rules", /^\/v1\/lenses/],
  ["Other", /^/],
];

export function renderReference({ paths, components }: OpenapiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return [
    "<!-- Generated from the routes of the server by `npm run generate`. -->",
    "# API reference",
    "Send your API key as `Authorization: Bearer <API_KEY>` or as `x-api-key`. Request and response bodies are JSON. Amounts are decimal strings in USD, times are ISO 8601 in UTC.",
    "Errors are never charged. [Errors and retries](errors.md) describes their format. The same reference for machines is at `/openapi.json`.",
    "## Response headers",
    table(
      ["Header", "Description"],
      Object.entries(components.headers).map(([name, { description }]) => [code(name), description]),
    ),
    ...chapters.flatMap(([title]) => {
      const chapter = operations.filter(({ path }) => chapterOf(path) === title);
      return chapter.length === 0 ? [] : [`## ${title}`, ...chapter.flatMap(renderOperation)];
    }),
    "",
  ].join("\n\n");
}

function chapterOf(path: string): string | undefined {
  return chapters.find(([, paths]) => paths.test(path))?.[0];
}

function renderOperation({ path, method, operation }: { path: string; method: string; operation: Operation }) {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const [status = "", answer] = Object.entries(responses).find(([key]) => key.startsWith("2")) ?? [];
  const [mediaType = "", content] = Object.entries(answer?.content ?? {})[0] ?? [];
  const body = requestBody?.content["application/json"]?.schema;
  return [
    `### ${summary}`,
    code(`${method} ${path}`),
    description,
    `Authentication: ${authenticationOf(operation)}.`,
    ...(parameters.length === 0 ? [] : [table(["Parameter", "In", "Description"], parameters.map(describeParameter))]),
    ...(body ? ["Request body:", fieldTable(body)] : []),
    ...describeAnswer(status, mediaType, content?.schema),
    ...describeErrors(responses),
  ];
}

function authenticationOf(operation: Operation): string {
  if (operation.security) return "none";
  const scope = operation["x-required-scope"];
  return scope === undefined ? "any API key" : `API key with the ${code(scope)} scope`;
}

function describeParameter({ name, in: location, description, schema }: Parameter): string[] {
  return [code(name), location, description ?? describe(schema)];
}

function describeAnswer(status: string, mediaType: string, schema: Schema | undefined): string[] {
  if (schema === undefined || fieldsOf(schema).length === 0) return [`Returns ${status}, ${code(mediaType)}.`];
  return [`Returns ${status}:`, fieldTable(schema)];
}

function describeErrors(responses: Operation["responses"]): string[] {
  const codes = Object.values(responses).flatMap(({ content }) =>
    Object.keys(content?.["application/problem+json"]?.examples ?? {}),
  );
  return codes.length === 0
    ? []
    : [`Errors: ${codes.map((name) => `[${code(name)}](problems/${name}.md)`).join(", ")}.`];
}

function fieldTable(schema: Schema): string {
  return table(["Field", "Description"], fieldsOf(schema));
}

/** One row per field. Fields of nested objects follow with their path. */
function fieldsOf(schema: Schema, parent = ""): string[][] {
  const { properties = {}, required = [] } = unwrap(schema);
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = unwrap(field);
    const row = [code(parent + name), describe(field, required.includes(name) ? [] : ["optional"])];
    const isList = inner.type === "array";
    return [row, ...fieldsOf(isList ? (inner.items ?? {}) : inner, `${parent}${name}${isList ? "[]" : ""}.`)];
  });
}

/** The schema of a nullable field when it is not null, with the fields of all its parts. */
function unwrap(schema: Schema): Schema {
  if (schema.allOf) {
    const parts = schema.allOf.map(unwrap);
    return {
      type: "object",
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, Schema>,
      required: parts.flatMap(({ required = [] }) => required),
    };
  }
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
  const description = schema.description ?? real.description;
  return description === undefined ? facts.join(", ") : `${facts.join(", ")}. ${description}`;
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

function table(header: string[], rows: string[][]): string {
  const lines = [header, header.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
