import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse, stringify } from "yaml";

// Replaces Helm in tests, where it is not available: implements the subset of Helm's template language that our chart uses.
// Anything else is an error. See https://pkg.go.dev/text/template and https://helm.sh/docs/chart_template_guide

type Node =
  | { kind: "text"; text: string }
  | { kind: "print"; expression: string }
  | { kind: "if"; expression: string; body: Node[]; elseBody: Node[] }
  | { kind: "range"; expression: string; body: Node[] };

interface Scope {
  dot: unknown;
  variables: Record<string, unknown>;
}

type Values = Record<string, unknown>;

/** Renders all templates with the chart's values and the overrides. Returns the text by file name. */
export function renderChart(folder: string, overrides: Values = {}): Record<string, string> {
  const chart = parse(readFileSync(join(folder, "Chart.yaml"), "utf8")) as { name: string; appVersion: string };
  const files = readdirSync(join(folder, "templates"));
  const basePath = `${chart.name}/templates`;
  const templates = new Map<string, Node[]>();
  for (const file of files) {
    const nodes = parseTemplate(readFileSync(join(folder, "templates", file), "utf8"), templates);
    templates.set(`${basePath}/${file}`, nodes);
  }
  const dot = {
    Values: mergedValues(folder, overrides),
    Release: { Name: "pb", Namespace: "default", Service: "Helm" },
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Template: { BasePath: basePath },
    // Helm follows symbolic links when it reads a chart.
    Files: { Get: (path: unknown) => readFileSync(join(folder, String(path)), "utf8") },
  };
  const rendered = files
    .filter((file) => file.endsWith(".yaml"))
    .map((file) => [basename(file), include(templates, `${basePath}/${file}`, dot)]);
  return Object.fromEntries(rendered) as Record<string, string>;
}

/** The chart's values with the overrides, which Helm validates against values.schema.json. */
export function mergedValues(folder: string, overrides: Values): Values {
  return merge(parse(readFileSync(join(folder, "values.yaml"), "utf8")) as Values, overrides);
}

function merge(base: Values, over: Values): Values {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const current = merged[name];
    merged[name] = isMap(current) && isMap(value) ? merge(current, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseTemplate(text: string, templates: Map<string, Node[]>): Node[] {
  // "{{-" trims white space before it, "-}}" after it.
  const trimmed = text
    .replace(/\{\{- \/\*.*?\*\/\}\}/gs, "")
    .replace(/\s*\{\{- /g, "{{ ")
    .replace(/ -\}\}\s*/g, " }}");
  const segments = trimmed.split(/(\{\{.*?\}\})/s);
  const nodes = parseNodes(segments, templates);
  if (segments.length > 0) throw new Error(`unexpected ${segments[0]}`);
  return nodes;
}

/** Consumes segments up to the next end or else. */
function parseNodes(segments: string[], templates: Map<string, Node[]>): Node[] {
  const nodes: Node[] = [];
  for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
    const action = /^\{\{(.*)\}\}$/s.exec(segment)?.[1]?.trim();
    if (action === "end" || action === "else") return nodes;
    segments.shift();
    if (action === undefined) nodes.push({ kind: "text", text: segment });
    else nodes.push(...parseAction(action, segments, templates));
  }
  return nodes;
}

function parseAction(action: string, segments: string[], templates: Map<string, Node[]>): Node[] {
  const [, keyword = "", expression = ""] = /^(if|range|define)\s+(.*)$/s.exec(action) ?? [];
  if (keyword === "") return [{ kind: "print", expression: action }];
  const body = parseNodes(segments, templates);
  const hasElse = segments[0]?.includes("else") === true;
  if (hasElse) segments.shift();
  const elseBody = hasElse ? parseNodes(segments, templates) : [];
  if (segments.shift() === undefined) throw new Error(`${action} has no end`);
  if (keyword === "if") return [{ kind: "if", expression, body, elseBody }];
  if (keyword === "range") return [{ kind: "range", expression, body }];
  templates.set(String(JSON.parse(expression)), body);
  return [];
}

function include(templates: Map<string, Node[]>, name: string, dot: unknown): string {
  const nodes = templates.get(name);
  if (!nodes) throw new Error(`template ${name} not found`);
  return render(nodes, { dot, variables: { $: dot } }, templates);
}

function render(nodes: Node[], scope: Scope, templates: Map<string, Node[]>): string {
  const texts = nodes.map((node) => {
    if (node.kind === "text") return node.text;
    if (node.kind === "print") return print(evaluate(node.expression, scope, templates));
    if (node.kind === "if") {
      const condition = isTrue(evaluate(node.expression, scope, templates));
      return render(condition ? node.body : node.elseBody, scope, templates);
    }
    return renderRange(node, scope, templates);
  });
  return texts.join("");
}

function renderRange(node: Node & { kind: "range" }, scope: Scope, templates: Map<string, Node[]>): string {
  const [, names = "", expression = node.expression] = /^(\$.*?) := (.*)$/s.exec(node.expression) ?? [];
  const over = evaluate(expression, scope, templates);
  // Go iterates over maps in key order.
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
function evaluate(expression: string, scope: Scope, templates: Map<string, Node[]>): unknown {
  const tokens = expression.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
  const result = evaluatePipeline(tokens, scope, templates);
  if (tokens.length > 0) throw new Error(`cannot parse "${expression}"`);
  return result;
}

function evaluatePipeline(tokens: string[], scope: Scope, templates: Map<string, Node[]>): unknown {
  let result: unknown[] = [];
  while (tokens.length > 0 && tokens[0] !== ")") {
    const values: unknown[] = [];
    const name = /^(?:[a-z]\w*|\.Files\.Get)$/i.test(tokens[0] ?? "") ? tokens.shift() : undefined;
    while (tokens.length > 0 && tokens[0] !== "|" && tokens[0] !== ")")
      values.push(evaluateOperand(tokens, scope, templates));
    if (tokens[0] === "|") tokens.shift();
    if (name === ".Files.Get") result = [getFile(scope.dot, values[0])];
    else result = [name === undefined ? values[0] : call(name, [...values, ...result], templates)];
  }
  return result[0];
}

function getFile(dot: unknown, path: unknown): string {
  return (dot as { Files: { Get: (path: unknown) => string } }).Files.Get(path);
}

function evaluateOperand(tokens: string[], scope: Scope, templates: Map<string, Node[]>): unknown {
  const token = tokens.shift() ?? "";
  if (token === "(") {
    const value = evaluatePipeline(tokens, scope, templates);
    if (tokens.shift() !== ")") throw new Error("missing closing parenthesis");
    return value;
  }
  if (token.startsWith('"')) return JSON.parse(token);
  if (/^\d+$/.test(token)) return Number(token);
  const [, variable = "", path = ""] = /^(\$\w*)?((?:\.\w*)*)$/.exec(token) ?? [];
  if (variable === "" && path === "") throw new Error(`cannot parse "${token}"`);
  let value = variable === "" ? scope.dot : scope.variables[variable];
  for (const name of path.split(".").filter(Boolean)) {
    // Helm renders a missing value as empty. Here it is an error, because it is always a mistake.
    if (!isMap(value) || !(name in value)) throw new Error(`value ${token} not found`);
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
  if (name === "replace") return print(last).replaceAll(print(first), () => print(values[1]));
  if (name === "hasKey") return isMap(first) && String(last) in first;
  if (name === "not") return !isTrue(last);
  throw new Error(`function ${name} is not implemented in render-chart.ts`);
}

function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isMap(value) ? Object.keys(value).length > 0 : Boolean(value);
}

function print(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  throw new Error("only strings, numbers and booleans can be printed");
}
