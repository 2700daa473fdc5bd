import { formatJson } from "./format-json.ts";
import { type ReferenceExample, toLiteral } from "./reference-example.ts";
import { renderSdkCall } from "./sdk-calls.ts";

/** An operation as its samples need it. */
export interface SampledOperation {
  operationId: string;
  method: string;
  path: string;
  /** The environment variable that contains the key, or undefined for a public operation. */
  keyVariable: string | undefined;
}

const defaultKeyVariable = "PENNYBLACK_API_KEY";

/** Tabs with the request in each language. */
export function renderSamples(operation: SampledOperation, example: ReferenceExample): string {
  return [
    "::: code-group",
    `\`\`\`sh [curl]\n${renderCurl(operation, example)}\n\`\`\``,
    `\`\`\`ts [TypeScript]\n${renderTypescript(operation, example)}\n\`\`\``,
    `\`\`\`python [Python]\n${renderPython(operation, example)}\n\`\`\``,
    ":::",
  ].join("\n\n");
}

function renderCurl({ method, path, keyVariable }: SampledOperation, example: ReferenceExample): string {
  const { headers = {}, body } = example;
  const lines = [`curl "$PENNYBLACK_URL${pathOf(path, example)}"`];
  if (method !== (body === undefined ? "GET" : "POST")) lines.push(`-X ${method}`);
  if (keyVariable !== undefined) lines.push(`-H "Authorization: Bearer $${keyVariable}"`);
  for (const [name, value] of Object.entries(headers)) lines.push(`-H "${name}: ${value}"`);
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d '${formatJson(body)}'`);
  return lines.join(" \\\n  ");
}

function renderTypescript(operation: SampledOperation, example: ReferenceExample): string {
  const { operationId, method, path, keyVariable } = operation;
  const call = renderSdkCall(operationId, example);
  if (call !== undefined) {
    // The SDK reads PENNYBLACK_API_KEY by itself.
    const isDefault = (keyVariable ?? defaultKeyVariable) === defaultKeyVariable;
    const options = isDefault ? "" : `{ apiKey: process.env.${keyVariable} }`;
    return [
      'import { Pennyblack } from "@pennyblack/sdk";',
      "",
      `const pennyblack = new Pennyblack(${options});`,
      call,
    ].join("\n");
  }
  const { headers = {}, body, response } = example;
  const sent = [
    ...(keyVariable === undefined ? [] : [`authorization: \`Bearer \${process.env.${keyVariable}}\``]),
    ...Object.entries(headers).map(
      ([name, value]) => `${JSON.stringify(name.toLowerCase())}: ${JSON.stringify(value)}`,
    ),
    ...(body === undefined ? [] : ['"content-type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`  method: ${JSON.stringify(method)},`]),
    ...(sent.length === 0 ? [] : [`  headers: { ${sent.join(", ")} },`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${toLiteral(body)}),`]),
  ];
  const url = `\`\${process.env.PENNYBLACK_URL}${pathOf(path, example)}\``;
  return [
    options.length === 0
      ? `const response = await fetch(${url});`
      : [`const response = await fetch(${url}, {`, ...options, "});"].join("\n"),
    "if (!response.ok) throw new Error(await response.text());",
    `console.log(await response.${isJson(response) ? "json" : "text"}());`,
  ].join("\n");
}

function renderPython({ method, path, keyVariable }: SampledOperation, example: ReferenceExample): string {
  const { query = {}, headers = {}, body, response } = example;
  const sent = [
    ...(keyVariable === undefined ? [] : [`"Authorization": f"Bearer {os.environ['${keyVariable}']}"`]),
    ...Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ];
  return [
    "import os",
    "",
    "import httpx",
    "",
    `response = httpx.${method.toLowerCase()}(`,
    `    f"{os.environ['PENNYBLACK_URL']}${pathOf(path, { ...example, query: {} })}",`,
    ...(sent.length === 0 ? [] : [`    headers={${sent.join(", ")}},`]),
    ...(Object.keys(query).length === 0 ? [] : [`    params=${toPython(query)},`]),
    ...(body === undefined ? [] : [`    json=${toPython(body)},`]),
    // Pages are redirected to the docs if those are built.
    ...(response === undefined ? ["    follow_redirects=True,"] : []),
    ")",
    "response.raise_for_status()",
    `print(response.${isJson(response) ? "json()" : "text"})`,
  ].join("\n");
}

function pathOf(path: string, { path: parameters = {}, query = {} }: Pick<ReferenceExample, "path" | "query">): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? "");
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

function isJson(response: unknown): boolean {
  return typeof response === "object";
}

function toPython(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(toPython).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${toPython(member)}`);
  return `{${members.join(", ")}}`;
}
