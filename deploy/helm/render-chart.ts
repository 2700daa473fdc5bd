import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse, stringify } from "yaml";

// As much of Helm's language of templates as our chart uses, so that what the chart renders can be checked where there is
// no Helm. What it does not know it refuses. Rules: https://pkg.go.dev/text/template, https://helm.sh/docs/chart_template_guide

type Node =
  | { kind: "text"; text: string }
  | { kind: "print"; words: string }
  | { kind: "if"; words: string; body: Node[]; otherwise: Node[] }
  | { kind: "range"; words: string; body: Node[] };

interface Scope {
  dot: unknown;
  variables: Record<string, unknown>;
}

type Values = Record<string, unknown>;

/** Every template's text by its file name, rendered with the chart's values and those given over them. */
export function renderChart(folder: string, given: Values = {}): Record<string, string> {
  const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8")) as { name: string; appVersion: string };
  const values = parse(readFileSync(join(folder, "values.yaml"), "utf8")) as Values;
  const files = readdirSync(join(folder, "templates"));
  const basePath = `${chart.name}/templates`;
  const templates = new Map<string, Node[]>();
  for (const file of files) {
    const nodes = parseTemplate(readFileSync(join(folder, "templates", file), "utf8"), templates);
    templates.set(`${basePath}/${file}`, nodes);
  }
  const dot = {
    Values: merge(values, given),
    Release: { Name: "pb", Namespace: "default", Service: "Helm" },
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Template: { BasePath: basePath },
  };
  const rendered = files
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => [basename(file), include(templates, `${basePath}/${file}`, dot)]);
  return Object.fromEntries(rendered) as Record<string, string>;
}

function merge(base: Values, over: Values): Values {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] = isMap(below) && isMap(value) ? merge(below, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseTemplate(text: string, templates: Map<string, Node[]>): Node[] {
  // "{{-" takes the white space before it, "-}}" that after it.
  const trimmed = text.replace(/\s*\{\{- /g, "{{ ").replace(/ -\}\}\s*/g, " }}");
  const parts = trimmed.split(/(\{\{.*?\}\})/s);
  const nodes = parseNodes(parts, templates);
  if (parts.length > 0) throw new Error(`${parts[0]} ends nothing`);
  return nodes;
}

/** Takes parts until an end or an else, which it leaves. */
function parseNodes(parts: string[], templates: Map<string, Node[]>): Node[] {
  const nodes: Node[] = [];
  for (let part = parts[0]; part !== undefined; part = parts[0]) {
    const action = /^\{\{(.*)\}\}$/s.exec(part)?.[1]?.trim();
    if (action === "end" || action === "else") return nodes;
    parts.shift();
    if (action === undefined) nodes.push({ kind: "text", text: part });
    else nodes.push(...parseAction(action, parts, templates));
  }
  return nodes;
}

function parseAction(action: string, parts: string[], templates: Map<string, Node[]>): Node[] {
  const [, keyword = "", words = ""] = /^(if|range|define)\s+(.*)$/s.exec(action) ?? [];
  if (keyword === "") return [{ kind: "print", words: action }];
  const body = parseNodes(parts, templates);
  const hasElse = parts[0]?.includes("else") === true;
  if (hasElse) parts.shift();
  const otherwise = hasElse ? parseNodes(parts, templates) : [];
  if (parts.shift() === undefined) throw new Error(`${action} has no end`);
  if (keyword === "if") return [{ kind: "if", words, body, otherwise }];
  if (keyword === "range") return [{ kind: "range", words, body }];
  templates.set(String(JSON.parse(words)), body);
  return [];
}

function include(templates: Map<string, Node[]>, name: string, dot: unknown): string {
  const nodes = templates.get(name);
  if (!nodes) throw new Error(`there is no template ${name}`);
  return render(nodes, { dot, variables: { $: dot } }, templates);
}

function render(nodes: Node[], scope: Scope, templates: Map<string, Node[]>): string {
  const texts = nodes.map((node) => {
    if (node.kind === "text") return node.text;
    if (node.kind === "print") return print(evaluate(node.words, scope, templates));
    if (node.kind === "if") {
      const isSo = isTrue(evaluate(node.words, scope, templates));
      return render(isSo ? node.body : node.otherwise, scope, templates);
    }
    return renderRange(node, scope, templates);
  });
  return texts.join("");
}

function renderRange(node: Node & { kind: "range" }, scope: Scope, templates: Map<string, Node[]>): string {
  const [, names = "", words = node.words] = /^(\$.*?) := (.*)$/s.exec(node.words) ?? [];
  const over = evaluate(words, scope, templates);
  // Go walks a map in the order of its keys.
  const entries: [unknown, unknown][] = isMap(over)
    ? Object.entries(over).toSorted(([left], [right]) => (left < right ? -1 : 1))
    : [...((over ?? []) as unknown[]).entries()];
  const [key = "", value = ""] = names.split(/,\s*/);
  const texts = entries.map(([index, item]) => {
    const variables = { ...scope.variables, ...(key && { [key]: index }), ...(value && { [value]: item }) };
    return render(node.body, { dot: item, variables }, templates);
  });
  return texts.join("");
}

/** A pipeline: each command's result is the last argument of the next. */
function evaluate(words: string, scope: Scope, templates: Map<string, Node[]>): unknown {
  const tokens = words.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
  const result = evaluatePipeline(tokens, scope, templates);
  if (tokens.length > 0) throw new Error(`cannot read "${words}"`);
  return result;
}

function evaluatePipeline(tokens: string[], scope: Scope, templates: Map<string, Node[]>): unknown {
  let result: unknown[] = [];
  while (tokens.length > 0 && tokens[0] !== ")") {
    const values: unknown[] = [];
    const name = /^[a-z]\w*$/i.test(tokens[0] ?? "") ? tokens.shift() : undefined;
    while (tokens.length > 0 && tokens[0] !== "|" && tokens[0] !== ")") values.push(operand(tokens, scope, templates));
    if (tokens[0] === "|") tokens.shift();
    result = [name === undefined ? values[0] : call(name, [...values, ...result], templates)];
  }
  return result[0];
}

function operand(tokens: string[], scope: Scope, templates: Map<string, Node[]>): unknown {
  const token = tokens.shift() ?? "";
  if (token === "(") {
    const value = evaluatePipeline(tokens, scope, templates);
    if (tokens.shift() !== ")") throw new Error("a bracket is not closed");
    return value;
  }
  if (token.startsWith('"')) return JSON.parse(token);
  if (/^\d+$/.test(token)) return Number(token);
  const [, variable = "", path = ""] = /^(\$\w*)?((?:\.\w*)*)$/.exec(token) ?? [];
  if (variable === "" && path === "") throw new Error(`cannot read "${token}"`);
  let value = variable === "" ? scope.dot : scope.variables[variable];
  for (const name of path.split(".").filter(Boolean)) {
    // Helm prints nothing for what is not there. Here it is a fault, because it is always a slip.
    if (!isMap(value) || !(name in value)) throw new Error(`there is no ${token}`);
    value = value[name];
  }
  return value;
}

function call(name: string, values: unknown[], templates: Map<string, Node[]>): unknown {
  const [first, last] = [values[0], values.at(-1)];
  if (name === "include") return include(templates, String(first), last);
  if (name === "quote") return JSON.stringify(print(last));
  if (name === "toYaml") return stringify(last, { sortMapEntries: true }).trimEnd();
  if (name === "nindent") return `\n${print(last).replace(/^/gm, " ".repeat(Number(first)))}`;
  if (name === "print") return values.map(print).join("");
  if (name === "sha256sum") return createHash("sha256").update(print(last)).digest("hex");
  if (name === "add") return Number(first) + Number(last);
  if (name === "mul") return Number(first) * Number(last);
  if (name === "hasKey") return isMap(first) && String(last) in first;
  if (name === "not") return !isTrue(last);
  throw new Error(`the chart may not use ${name} before render-chart.ts knows it`);
}

function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isMap(value) ? Object.keys(value).length > 0 : Boolean(value);
}

function print(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Error("only texts, numbers and booleans can be printed");
}
