import { formatJson } from "./format-json.ts";
import type { ReferenceExample } from "./reference-example.ts";
import { renderSamples } from "./render-samples.ts";

// Renders the API reference as Markdown from openapi.json and the recorded examples: an overview and a page per resource.

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
  required: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  schema?: Schema;
  /** Of problems. */
  examples?: Record<string, { summary: string; value: { retryable: boolean } }>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security?: unknown;
  "x-required-scope"?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { content?: Record<string, Content> }>;
}

export interface OpenapiDocument {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, { description: string }> };
}

interface OperationEntry {
  path: string;
  method: string;
  operation: Operation;
}

/** The pages of the reference: an overview, and one for each tag, by file name without the extension. */
export function renderReference(
  document: OpenapiDocument,
  examples: Record<string, ReferenceExample>,
): Map<string, string> {
  const { tags, paths, components } = document;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const resources = tags.map(({ name, description }) => ({
    name,
    page: `reference/${name.toLowerCase()}`,
    description,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }));
  return new Map([
    ["reference", renderOverview(resources, components.headers)],
    ...resources.map((resource) => [resource.page, renderResource(resource, examples)] as const),
  ]);
}

interface Resource {
  name: string;
  page: string;
  description: string;
  operations: OperationEntry[];
}

const origin =
  "<!-- Generated from the routes of the server by `npm run generate`. The samples run in server/test/reference. -->";

function renderOverview(resources: readonly Resource[], headers: OpenapiDocument["components"]["headers"]): string {
  return [
    origin,
    "# API reference",
    "Send your API key as `Authorization: Bearer <API_KEY>` or as `x-api-key`. Request and response bodies are JSON. Amounts are decimal strings in USD, and times are ISO 8601 in UTC.",
    "The samples read the base URL from `PENNYBLACK_URL`, an API key that can search from `PENNYBLACK_API_KEY` and a management key from `PENNYBLACK_MANAGEMENT_KEY`. Responses are recorded from a real server. Long lists and strings are shortened, and secrets are replaced by `...`.",
    "Errors are never charged. [Errors and retries](errors.md) describes their format. The OpenAPI 3.1 description of this API is at `/openapi.json`.",
    ...resources.flatMap(({ name, page, description, operations }) => [
      `## [${name}](${page}.md)`,
      description,
      operationTable(operations, `${page}.md`),
    ]),
    "## Response headers",
    table(
      ["Header", "Description"],
      Object.entries(headers).map(([name, { description }]) => [code(name), description]),
    ),
    "",
  ].join("\n\n");
}

/** The samples are beside the fields on wide screens, instead of the outline. */
function renderResource(
  { name, description, operations }: Resource,
  examples: Record<string, ReferenceExample>,
): string {
  return [
    "---\naside: false\npageClass: reference\n---",
    origin,
    `# ${name}`,
    description,
    operationTable(operations, ""),
    ...operations.flatMap((entry) => renderOperation(entry, examples[entry.operation.operationId])),
    "",
  ].join("\n\n");
}

function operationTable(operations: readonly OperationEntry[], page: string): string {
  return table(
    ["Operation", "Request"],
    operations.map(({ method, path, operation: { operationId, summary } }) => [
      `[${summary}](${page}#${operationId})`,
      code(`${method} ${path}`),
    ]),
  );
}

function renderOperation({ path, method, operation }: OperationEntry, example: ReferenceExample | undefined): string[] {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const [status = "", answer] = Object.entries(responses).find(([key]) => key.startsWith("2")) ?? [];
  const [mediaType = "", content] = Object.entries(answer?.content ?? {})[0] ?? [];
  const body = requestBody?.content["application/json"]?.schema;
  const sampled = { operationId, method, path, keyVariable: keyVariableOf(operation) };
  const fields = content?.schema === undefined ? [] : fieldsOf(content.schema);
  return [
    `## ${summary} {#${operationId}}`,
    '<div class="operation">\n<div>',
    code(`${method} ${path}`),
    description,
    `Authentication: ${authenticationOf(operation)}.`,
    ...(body ? ["**Request body**", fieldTable(body)] : []),
    ...describeParameters(parameters),
    ...(fields.length === 0 ? [] : [`**Response** ${status}`, table(["Field", "Description"], fields)]),
    ...describeErrors(responses),
    "</div>\n<div>",
    ...(example ? [renderSamples(sampled, example)] : []),
    `Returns ${status}${fields.length === 0 ? `, ${code(mediaType)}.` : ":"}`,
    ...renderAnswer(example?.response),
    "</div>\n</div>",
  ];
}

function renderAnswer(response: unknown): string[] {
  if (typeof response === "string") return [`\`\`\`text\n${response}\n\`\`\``];
  return typeof response === "object" ? [`\`\`\`json\n${formatJson(response)}\n\`\`\``] : [];
}

const places = { path: "Path parameters", query: "Query parameters", header: "Request headers" };

function describeParameters(parameters: readonly Parameter[]): string[] {
  return Object.entries(places).flatMap(([place, title]) => {
    const rows = parameters.filter((parameter) => parameter.in === place).map(describeParameter);
    return rows.length === 0 ? [] : [`**${title}**`, table(["Name", "Description"], rows)];
  });
}

function keyVariableOf(operation: Operation): string | undefined {
  if (operation.security) return undefined;
  const isForSearchKeys = ["search", "budgets:request"].includes(operation["x-required-scope"] ?? "");
  return isForSearchKeys ? "PENNYBLACK_API_KEY" : "PENNYBLACK_MANAGEMENT_KEY";
}

function authenticationOf(operation: Operation): string {
  if (operation.security) return "none";
  const scope = operation["x-required-scope"];
  return scope === undefined ? "any API key" : `API key with the ${code(scope)} scope`;
}

function describeParameter({ name, required, description, schema }: Parameter): string[] {
  const described = { ...schema, ...(description !== undefined && { description }) };
  return [code(name), describe(described, required ? [] : ["optional"])];
}

/** Collapsed, because they are the longest part of most operations and the same in many. */
function describeErrors(responses: Operation["responses"]): string[] {
  const rows = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.entries(content?.["application/problem+json"]?.examples ?? {}).map(([name, { summary, value }]) => {
      return [status, `[${code(name)}](../problems/${name}.md)`, summary, value.retryable ? "yes" : "no"];
    }),
  );
  const errors = table(["Status", "Code", "Meaning", "Retry"], rows);
  return rows.length === 0 ? [] : ["<details>\n<summary>Errors</summary>", errors, "</details>"];
}

export function fieldTable(schema: Schema): string {
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
