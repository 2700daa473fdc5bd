import assert from "node:assert/strict";
import { type ClientCall, findClientCall } from "./client-calls.ts";
import { formatJson } from "./format-json.ts";
import { type ReferenceExample, toLiteral } from "./reference-example.ts";

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
  const { operationId, path, keyVariable } = operation;
  const call = findClientCall(operationId, example);
  if (call !== undefined) {
    const options = readsDefaultKey(operation) ? "" : `{ apiKey: process.env.${keyVariable} }`;
    return [
      'import { Pennyblack } from "@pennyblack/sdk";',
      "",
      `const pennyblack = new Pennyblack(${options});`,
      callInTypescript(call),
    ].join("\n");
  }
  assertPublicRead(operation, example);
  return [
    `const response = await fetch(\`\${process.env.PENNYBLACK_URL}${pathOf(path, example)}\`);`,
    "if (!response.ok) throw new Error(await response.text());",
    `console.log(await response.${isJson(example.response) ? "json" : "text"}());`,
  ].join("\n");
}

/** The clients read PENNYBLACK_API_KEY by themselves. */
function readsDefaultKey({ keyVariable }: SampledOperation): boolean {
  return (keyVariable ?? defaultKeyVariable) === defaultKeyVariable;
}

function callInTypescript({ method, args = [], options = {}, item, isPage }: ClientCall): string {
  const named = Object.entries(options).map(([name, value]) => `${toCamelCase(name)}: ${toLiteral(value)}`);
  const values = [...args.map(toLiteral), ...(named.length > 0 ? [`{ ${named.join(", ")} }`] : [])];
  const call = `pennyblack.${toCamelCase(method)}(${values.join(", ")})`;
  if (method === "search") return `const { results, meta } = await ${call};\nconsole.log(results, meta.charge);`;
  if (item !== undefined) return `for await (const ${toCamelCase(item)} of ${call}) console.log(${toCamelCase(item)});`;
  return `console.log(await ${call}${isPage ? ".page()" : ""});`;
}

function callInPython({ method, args = [], options = {}, item, isPage }: ClientCall): string {
  const named = Object.entries(options).map(([name, value]) => `${name}=${toPython(value)}`);
  const call = `client.${method}(${[...args.map(toPython), ...named].join(", ")})`;
  if (method === "search") return `answer = ${call}\nprint(answer.results, answer.meta.charge)`;
  if (item !== undefined) return `for ${item} in ${call}:\n    print(${item})`;
  return `print(${call}${isPage ? ".page()" : ""})`;
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function renderPython(operation: SampledOperation, example: ReferenceExample): string {
  const { operationId, path, keyVariable } = operation;
  const call = findClientCall(operationId, example);
  if (call !== undefined) {
    const isDefault = readsDefaultKey(operation);
    return [
      ...(isDefault ? [] : ["import os", ""]),
      "from pennyblack import Pennyblack",
      "",
      `client = Pennyblack(${isDefault ? "" : `os.environ["${keyVariable}"]`})`,
      callInPython(call),
    ].join("\n");
  }
  assertPublicRead(operation, example);
  const { response } = example;
  // Pages are redirected to the docs if those are built.
  const options = response === undefined ? ", follow_redirects=True" : "";
  return [
    "import os",
    "",
    "import httpx",
    "",
    `response = httpx.get(os.environ["PENNYBLACK_URL"] + "${pathOf(path, example)}"${options})`,
    "response.raise_for_status()",
    `print(response.${isJson(response) ? "json()" : "text"})`,
  ].join("\n");
}

/** The clients have a method for every other operation. */
function assertPublicRead({ operationId, method, keyVariable }: SampledOperation, { body }: ReferenceExample): void {
  assert(
    method === "GET" && keyVariable === undefined && body === undefined,
    `no method of the clients: ${operationId}`,
  );
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
