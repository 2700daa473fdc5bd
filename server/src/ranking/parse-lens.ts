import { parseRule, type Rule } from "./parse-rule.ts";

// A lens is a text file: headers first, then one rule per line.
//
//   ! name: programming
//   ! version: 2026-11-15.1
//   ! extends: base
//   ! lambda: 0.50
//   ! Any other line that starts with an exclamation mark is a comment.
//   $tier=A,host=docs.python.org,why=primary-docs
//   /coupons/$tier=D,override,why=coupon-section

export interface LensText {
  name: string;
  version: string;
  extends: string | undefined;
  /** Weight of authority in the score, from 0 to 1. The rest is the upstream's rank. */
  lambda: number;
  rules: Rule[];
}

/** Lines are counted from 1. */
export interface LensFault {
  line: number;
  message: string;
}

export type ParsedLens = { ok: true; lens: LensText } | { ok: false; faults: LensFault[] };

/** Never throws. Reports all faults at once. */
export function parseLens(text: string): ParsedLens {
  const faults: LensFault[] = [];
  const headers = new Map<string, string>();
  const rules: Rule[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === "") continue;
    if (content.startsWith("!")) {
      const fault = rules.length === 0 ? readHeader(content, headers) : undefined;
      if (fault !== undefined) faults.push({ line, message: fault });
      continue;
    }
    const parsed = parseRule(content, line);
    if (parsed.ok) rules.push(parsed.rule);
    else faults.push(...parsed.messages.map((message) => ({ line, message })));
  }
  faults.push(...missingHeaders(headers), ...repeatedRules(rules));
  if (faults.length > 0) return { ok: false, faults: faults.toSorted((a, b) => a.line - b.line) };
  return { ok: true, lens: toLens(headers, rules) };
}

const headerPatterns: Readonly<Record<string, RegExp>> = {
  name: /^[a-z][a-z0-9-]{0,31}$/,
  version: /^\d{4}-\d{2}-\d{2}\.\d{1,4}$/,
  description: /./,
  extends: /^[a-z][a-z0-9-]{0,31}$/,
  lambda: /^(?:0(?:\.\d{1,4})?|1(?:\.0{1,4})?)$/,
};

/** A header is one lower-case word and a colon. A comment rarely starts that way, so a misspelled header is a fault. */
function readHeader(content: string, headers: Map<string, string>): string | undefined {
  const [, name, value = ""] = /^!\s*([a-z]+):\s*(.*)$/.exec(content) ?? [];
  if (name === undefined) return undefined;
  const pattern = Object.hasOwn(headerPatterns, name) ? headerPatterns[name] : undefined;
  if (pattern === undefined)
    return `unknown header "${name}"; valid headers: ${Object.keys(headerPatterns).join(", ")}`;
  if (headers.has(name)) return `${name} is repeated`;
  headers.set(name, value);
  return pattern.test(value) ? undefined : `invalid ${name} "${value}"`;
}

function missingHeaders(headers: ReadonlyMap<string, string>): LensFault[] {
  return ["name", "version", "lambda"]
    .filter((name) => !headers.has(name))
    .map((name) => ({ line: 1, message: `${name} is missing` }));
}

/** Of two rules for the same pages, the later one would silently win. */
function repeatedRules(rules: readonly Rule[]): LensFault[] {
  const first = new Map<string, number>();
  return rules.flatMap(({ selector, value, path, isOverride, line }) => {
    const key = JSON.stringify([selector, value, path, isOverride]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, line);
    return earlier === undefined ? [] : [{ line, message: `line ${earlier} already has a rule for the same pages` }];
  });
}

function toLens(headers: ReadonlyMap<string, string>, rules: Rule[]): LensText {
  return {
    name: headers.get("name") ?? "",
    version: headers.get("version") ?? "",
    extends: headers.get("extends"),
    lambda: Number(headers.get("lambda")),
    rules,
  };
}
