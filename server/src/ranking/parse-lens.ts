import { parseRule, type Rule } from "./parse-rule.ts";

// A lens is text: facts about itself first, then one rule a line.
//
//   ! name: programming
//   ! version: 2026-11-15.1
//   ! extends: base
//   ! lambda: 0.50
//   ! Every other line that begins with an exclamation mark is a comment.
//   $tier=A,host=docs.python.org,why=primary-docs
//   /coupons/$tier=D,override,why=coupon-section

export interface LensText {
  name: string;
  version: string;
  extends: string | undefined;
  /** The share of authority in the score; the rest is the upstream's order. */
  lambda: number;
  rules: Rule[];
}

/** What is wrong with a line, for the person who wrote it. Lines are counted from 1. */
export interface LensFault {
  line: number;
  message: string;
}

export type ParsedLens = { ok: true; lens: LensText } | { ok: false; faults: LensFault[] };

/** Never throws, and tells all faults at once: whoever mends a lens should not have to ask again after each line. */
export function parseLens(text: string): ParsedLens {
  const faults: LensFault[] = [];
  const facts = new Map<string, string>();
  const rules: Rule[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === "") continue;
    if (content.startsWith("!")) {
      const fault = rules.length === 0 ? readFact(content, facts) : undefined;
      if (fault !== undefined) faults.push({ line, message: fault });
      continue;
    }
    const parsed = parseRule(content, line);
    if (parsed.ok) rules.push(parsed.rule);
    else faults.push(...parsed.messages.map((message) => ({ line, message })));
  }
  faults.push(...missingFacts(facts), ...repeatedRules(rules));
  if (faults.length > 0) return { ok: false, faults: faults.toSorted((a, b) => a.line - b.line) };
  return { ok: true, lens: toLens(facts, rules) };
}

const knownFacts: Readonly<Record<string, RegExp>> = {
  name: /^[a-z][a-z0-9-]{0,31}$/,
  version: /^\d{4}-\d{2}-\d{2}\.\d{1,4}$/,
  description: /./,
  extends: /^[a-z][a-z0-9-]{0,31}$/,
  lambda: /^(?:0(?:\.\d{1,4})?|1(?:\.0{1,4})?)$/,
};

/** A fact is one small word and a colon. A comment rarely begins so, and a misspelled fact must not pass for one. */
function readFact(content: string, facts: Map<string, string>): string | undefined {
  const [, name, value = ""] = /^!\s*([a-z]+):\s*(.*)$/.exec(content) ?? [];
  if (name === undefined) return undefined;
  const pattern = Object.hasOwn(knownFacts, name) ? knownFacts[name] : undefined;
  if (pattern === undefined) return `there is no fact "${name}"; there are ${Object.keys(knownFacts).join(", ")}`;
  if (facts.has(name)) return `the ${name} is given twice`;
  facts.set(name, value);
  return pattern.test(value) ? undefined : `the ${name} "${value}" does not look like one`;
}

function missingFacts(facts: ReadonlyMap<string, string>): LensFault[] {
  return ["name", "version", "lambda"]
    .filter((name) => !facts.has(name))
    .map((name) => ({ line: 1, message: `the ${name} is missing` }));
}

/** Two rules for the same pages would make the later one win silently. */
function repeatedRules(rules: readonly Rule[]): LensFault[] {
  const first = new Map<string, number>();
  return rules.flatMap(({ selector, value, path, isOverride, line }) => {
    const key = JSON.stringify([selector, value, path, isOverride]);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, line);
    return earlier === undefined ? [] : [{ line, message: `line ${earlier} has a rule for the same pages` }];
  });
}

function toLens(facts: ReadonlyMap<string, string>, rules: Rule[]): LensText {
  return {
    name: facts.get("name") ?? "",
    version: facts.get("version") ?? "",
    extends: facts.get("extends"),
    lambda: Number(facts.get("lambda")),
    rules,
  };
}
