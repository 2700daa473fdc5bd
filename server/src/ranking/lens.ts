import { createHash } from "node:crypto";
import { type LensFault, type LensText, parseLens } from "./parse-lens.ts";
import type { Rule } from "./parse-rule.ts";
import { type HostFacts, readHost } from "./read-host.ts";
import { higherTier, lowerTier, type Tier } from "./tier.ts";

/** Rules ready to be looked up. Made once when a lens is loaded, so that judging a page is a few look-ups. */
export interface Lens {
  name: string;
  version: string;
  /** Of the text of this lens and of those it extends: two servers that show the same digest rank alike. */
  digest: string;
  lambda: number;
  ruleCount: number;
  judge(page: { host: string; path: string }): Verdict;
  /** The registered domain, so that news.example.co.uk and www.example.co.uk are one site. */
  facts(host: string): HostFacts;
}

export interface Verdict {
  tier: Tier;
  why: string;
}

export type BuiltLenses =
  | { ok: true; lenses: ReadonlyMap<string, Lens> }
  | { ok: false; faults: (LensFault & { file: string })[] };

/** All lenses of a folder, each with what it extends. One bad line anywhere and there is none: the old ones stay. */
export function buildLenses(files: readonly { file: string; text: string }[]): BuiltLenses {
  const parsed = files.map(({ file, text }) => ({ file, text, result: parseLens(text) }));
  const faults = parsed.flatMap(({ file, result }) =>
    result.ok ? [] : result.faults.map((fault) => ({ file, ...fault })),
  );
  const sources = new Map<string, Source>();
  for (const { file, text, result } of parsed) {
    if (!result.ok) continue;
    const { name } = result.lens;
    if (sources.has(name)) faults.push({ file, line: 1, message: `there are two lenses named ${name}` });
    sources.set(name, { file, text, lens: result.lens });
  }
  for (const { file, lens } of sources.values()) {
    const message = faultOfLineage(lens, sources);
    if (message !== undefined) faults.push({ file, line: 1, message });
  }
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, lenses: new Map([...sources.keys()].map((name) => [name, compile(lineage(name, sources))])) };
}

interface Source {
  file: string;
  text: string;
  lens: LensText;
}

/** One step is enough for categories over a base, and cannot go round in a circle. */
function faultOfLineage(lens: LensText, sources: ReadonlyMap<string, Source>): string | undefined {
  if (lens.extends === undefined) return undefined;
  const parent = sources.get(lens.extends);
  if (parent === undefined) return `extends ${lens.extends}, which is not there or has faults`;
  return parent.lens.extends === undefined ? undefined : `extends ${lens.extends}, which itself extends another`;
}

function lineage(name: string, sources: ReadonlyMap<string, Source>): Source[] {
  const source = sources.get(name);
  if (source === undefined) return [];
  return [...(source.lens.extends === undefined ? [] : lineage(source.lens.extends, sources)), source];
}

// Hosts repeat from search to search. The bound keeps a stream of strange hosts from filling the memory; what is
// forgotten is worked out again, with the same outcome.
const mostHostsRemembered = 8_192;

function compile(sources: readonly Source[]): Lens {
  const { name, version, lambda } = sources.at(-1)?.lens ?? { name: "", version: "", lambda: 0 };
  const rules = sources.flatMap(({ lens }) => lens.rules);
  const table = indexRules(rules);
  const remembered = new Map<string, Known>();
  // A page's host is asked about twice in a row.
  let latest = { host: "", known: study("", table) };

  function know(host: string): Known {
    if (host !== latest.host) latest = { host, known: remembered.get(host) ?? learn(host) };
    return latest.known;
  }

  function learn(host: string): Known {
    const known = study(host, table);
    if (remembered.size >= mostHostsRemembered) remembered.clear();
    remembered.set(host, known);
    return known;
  }

  function judge({ host, path }: { host: string; path: string }): Verdict {
    const { verdict, matching, paths } = know(host);
    const closed = `${path.toLowerCase()}/`;
    const isSpecial = table.anyPath?.test(closed) === true || paths.some((part) => closed.includes(part));
    return isSpecial ? apply(inOrder([...matching, ...table.everywhere], closed)) : verdict;
  }

  const digest = createHash("sha256").update(JSON.stringify(sources.map(({ text }) => text)));
  return {
    name,
    version,
    digest: digest.digest("hex").slice(0, 16),
    lambda,
    ruleCount: rules.length,
    judge,
    facts: (host) => know(host).facts,
  };
}

interface Known {
  facts: HostFacts;
  /** Of a page whose path no rule is about. */
  verdict: Verdict;
  matching: readonly Rule[];
  /** Those that its rules are about. */
  paths: readonly string[];
}

interface RuleTable {
  /** By selector and value, as in `site=example.org`. */
  byHost: ReadonlyMap<string, Rule[]>;
  /** Rules about paths on every host, and one pattern that finds whether any of them applies. */
  everywhere: readonly Rule[];
  anyPath: RegExp | undefined;
}

function indexRules(rules: readonly Rule[]): RuleTable {
  const everywhere = rules.filter(({ selector }) => selector === "any");
  const paths = everywhere.map(({ path = "" }) => RegExp.escape(path));
  const byHost = Map.groupBy(
    rules.filter(({ selector }) => selector !== "any"),
    ({ selector, value }) => `${selector}=${value}`,
  );
  return { byHost, everywhere, anyPath: paths.length === 0 ? undefined : new RegExp(paths.join("|")) };
}

function study(host: string, { byHost }: RuleTable): Known {
  const facts = readHost(host);
  const matching = keysOf(host, facts).flatMap((key) => byHost.get(key) ?? []);
  return {
    facts,
    verdict: apply(inOrder(matching, undefined)),
    matching,
    paths: matching.flatMap(({ path }) => path ?? []),
  };
}

/** Every selector that could speak of this host. */
function keysOf(host: string, { suffix, isPrivate, labels }: HostFacts): string[] {
  const parts = host.split(".");
  const tails = parts.map((_, index) => parts.slice(index).join("."));
  const suffixParts = suffix.split(".");
  const suffixes = suffixParts.map((_, index) => suffixParts.slice(index).join("."));
  return [
    `host=${host}`,
    ...tails.map((tail) => `site=${tail}`),
    ...tails.slice(1).map((tail) => `host-suffix=${tail}`),
    ...suffixes.map((part) => `suffix=${part}`),
    // gov.* is government below a country's two letters; gov.com is a shop that bought the name.
    ...suffixes.filter((part) => /^[^.]+\.[a-z]{2}$/.test(part)).map((part) => `suffix=${part.replace(/[^.]+$/, "*")}`),
    ...labels.map((label) => `label=${label}`),
    ...(isPrivate ? ["psl-private="] : []),
  ];
}

/** From the most general to the most specific; a category's rule after the base's for the same pages. */
function inOrder(rules: readonly Rule[], path: string | undefined): Rule[] {
  return rules
    .filter((rule) => rule.path === undefined || path?.includes(rule.path) === true)
    .toSorted((a, b) => specificity(a) - specificity(b));
}

// A word in the name or the path of an unknown site says something; it says nothing against a site that is known.
const selectorWeights: Readonly<Record<Rule["selector"], number>> = {
  any: 1,
  label: 1,
  "psl-private": 2,
  suffix: 3,
  "host-suffix": 4,
  site: 4,
  host: 5,
};

function specificity({ selector, value, path, isOverride }: Rule): number {
  const labels = value === "" ? 0 : value.split(".").length;
  return (isOverride ? 1_000 : 0) + selectorWeights[selector] * 100 + labels * 2 + (path === undefined ? 0 : 1);
}

const unlisted: Verdict = { tier: "N", why: "unlisted" };

function apply(rules: readonly Rule[]): Verdict {
  let verdict = unlisted;
  for (const { verb, tier, why } of rules) {
    if (verb === "tier") verdict = { tier, why };
    else {
      const moved = verb === "cap" ? lowerTier(verdict.tier, tier) : higherTier(verdict.tier, tier);
      if (moved !== verdict.tier || verdict === unlisted) verdict = { tier: moved, why };
    }
  }
  return verdict;
}
