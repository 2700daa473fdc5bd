import { createHash } from "node:crypto";
import { type LensFault, type LensText, parseLens } from "./parse-lens.ts";
import type { Rule } from "./parse-rule.ts";
import { type HostFacts, readHost } from "./read-host.ts";
import { higherTier, lowerTier, type Tier } from "./tier.ts";

/** Compiled rules. Compiled once when a lens is loaded, so that classifying a page takes a few lookups. */
export interface Lens {
  name: string;
  version: string;
  /** Hash of the text of this lens and the lens it extends. Servers with the same digest rank identically. */
  digest: string;
  lambda: number;
  ruleCount: number;
  classify(page: { host: string; path: string }): Verdict;
  facts(host: string): HostFacts;
}

export interface Verdict {
  tier: Tier;
  why: string;
}

export type BuiltLenses =
  | { ok: true; lenses: ReadonlyMap<string, Lens> }
  | { ok: false; faults: (LensFault & { file: string })[] };

/** Builds all lenses of a folder. A fault in any file fails all of them, so that the previous lenses stay in use. */
export function buildLenses(files: readonly { file: string; text: string }[]): BuiltLenses {
  const parsed = files.map(({ file, text }) => ({ file, text, result: parseLens(text) }));
  const faults = parsed.flatMap(({ file, result }) =>
    result.ok ? [] : result.faults.map((fault) => ({ file, ...fault })),
  );
  const sources = new Map<string, Source>();
  for (const { file, text, result } of parsed) {
    if (!result.ok) continue;
    const { name } = result.lens;
    if (sources.has(name)) faults.push({ file, line: 1, message: `another lens is also named ${name}` });
    sources.set(name, { file, text, lens: result.lens });
  }
  for (const { file, lens } of sources.values()) {
    const message = findExtendsFault(lens, sources);
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

/** Only one level of inheritance is allowed, which rules out cycles. */
function findExtendsFault(lens: LensText, sources: ReadonlyMap<string, Source>): string | undefined {
  if (lens.extends === undefined) return undefined;
  const parent = sources.get(lens.extends);
  if (parent === undefined) return `extends ${lens.extends}, which does not exist or has faults`;
  return parent.lens.extends === undefined ? undefined : `extends ${lens.extends}, which itself extends another lens`;
}

function lineage(name: string, sources: ReadonlyMap<string, Source>): Source[] {
  const source = sources.get(name);
  if (source === undefined) return [];
  return [...(source.lens.extends === undefined ? [] : lineage(source.lens.extends, sources)), source];
}

// Hosts repeat across searches. The limit bounds memory; evicted hosts are analyzed again.
const maxCachedHosts = 8_192;

function compile(sources: readonly Source[]): Lens {
  const { name, version, lambda } = sources.at(-1)?.lens ?? { name: "", version: "", lambda: 0 };
  const rules = sources.flatMap(({ lens }) => lens.rules);
  const table = indexRules(rules);
  const cache = new Map<string, HostEntry>();
  // Every host is looked up twice in a row, by `classify` and `facts`.
  let latest = { host: "", entry: analyzeHost("", table) };

  function lookUp(host: string): HostEntry {
    if (host !== latest.host) latest = { host, entry: cache.get(host) ?? analyzeAndCache(host) };
    return latest.entry;
  }

  function analyzeAndCache(host: string): HostEntry {
    const entry = analyzeHost(host, table);
    if (cache.size >= maxCachedHosts) cache.clear();
    cache.set(host, entry);
    return entry;
  }

  function classify({ host, path }: { host: string; path: string }): Verdict {
    const { verdict, matching, paths } = lookUp(host);
    const closedPath = `${path.toLowerCase()}/`;
    const isSpecial = table.anyPath?.test(closedPath) === true || paths.some((part) => closedPath.includes(part));
    return isSpecial ? apply(inOrder([...matching, ...table.everywhere], closedPath)) : verdict;
  }

  const digest = createHash("sha256").update(JSON.stringify(sources.map(({ text }) => text)));
  return {
    name,
    version,
    digest: digest.digest("hex").slice(0, 16),
    lambda,
    ruleCount: rules.length,
    classify,
    facts: (host) => lookUp(host).facts,
  };
}

interface HostEntry {
  facts: HostFacts;
  /** Verdict for pages whose path matches no rule. */
  verdict: Verdict;
  matching: readonly Rule[];
  /** Paths in the matching rules. */
  paths: readonly string[];
}

interface RuleTable {
  /** Keyed by selector and value, such as `site=example.org`. */
  byHost: ReadonlyMap<string, Rule[]>;
  /** Path rules for all hosts, and one pattern that matches if any of them applies. */
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

function analyzeHost(host: string, { byHost }: RuleTable): HostEntry {
  const facts = readHost(host);
  const matching = keysOf(host, facts).flatMap((key) => byHost.get(key) ?? []);
  return {
    facts,
    verdict: apply(inOrder(matching, undefined)),
    matching,
    paths: matching.flatMap(({ path }) => path ?? []),
  };
}

/** All selectors that can match this host. */
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
    // gov.* matches only country-code domains: gov.uk is a government, gov.com is not.
    ...suffixes.filter((part) => /^[^.]+\.[a-z]{2}$/.test(part)).map((part) => `suffix=${part.replace(/[^.]+$/, "*")}`),
    ...labels.map((label) => `label=${label}`),
    ...(isPrivate ? ["psl-private="] : []),
  ];
}

/** From general to specific. For equal specificity, rules of the category follow those of the base. */
function inOrder(rules: readonly Rule[], path: string | undefined): Rule[] {
  return rules
    .filter((rule) => rule.path === undefined || path?.includes(rule.path) === true)
    .toSorted((a, b) => specificity(a) - specificity(b));
}

// A word in the host name or path is only a hint, so a rule for the site itself outweighs it.
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
