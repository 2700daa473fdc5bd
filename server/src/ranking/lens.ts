import { createHash } from "node:crypto";
import { type BoundedCache, createBoundedCache } from "../lib/bounded-cache.ts";
import { type LensFault, type LensText, parseLens } from "./parse-lens.ts";
import { parseRegistry, type Registry, type RegistryInfo } from "./parse-registry.ts";
import type { Rule } from "./parse-rule.ts";
import { type HostFacts, maxLabels, readHost } from "./read-host.ts";
import { higherTier, lowerTier, type Tier } from "./tier.ts";

/** Compiled rules. Compiled once when a lens is loaded, so that classifying a page takes a few lookups. */
export interface Lens {
  name: string;
  version: string;
  /** Hash of this lens, the lens it extends and the registries. Servers with the same digest rank identically. */
  digest: string;
  lambda: number;
  /** Whether it extends no other lens and is therefore not for a category. */
  isGeneral: boolean;
  /** Hand-written rules, including inherited ones. */
  ruleCount: number;
  registries: readonly RegistryInfo[];
  /** The same lens without registries. */
  withoutRegistries: Lens;
  classify(page: { host: string; path: string }): Verdict;
  /** The rule behind the verdict. Undefined if no rule matches. */
  decidingRule(page: { host: string; path: string }): Rule | undefined;
  facts(host: string): HostFacts;
}

export interface Verdict {
  tier: Tier;
  why: string;
  /** The list that the tier comes from. Undefined for hand-written rules. */
  registry?: RegistryInfo;
}

interface AppliedRule extends Rule {
  /** The list that the rule comes from. Undefined for hand-written rules. */
  registry?: RegistryInfo;
}

export type BuiltLenses =
  | { ok: true; lenses: ReadonlyMap<string, Lens> }
  | { ok: false; faults: (LensFault & { file: string })[] };

/**
 * Builds all lenses of a folder, with the registries in its `.registry` files. A fault in any file fails all of them, so
 * that the previous lenses stay in use.
 */
export function buildLenses(files: readonly { file: string; text: string }[]): BuiltLenses {
  const lensFiles = files.filter(({ file }) => !file.endsWith(".registry"));
  const parsed = lensFiles.map(({ file, text }) => ({ file, text, result: parseLens(text) }));
  const lists = files
    .filter(({ file }) => file.endsWith(".registry"))
    .map(({ file, text }) => ({ file, text, result: parseRegistry(text) }));
  const faults = [...parsed, ...lists].flatMap(({ file, result }) =>
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
  const registries = lists.flatMap(({ text, result }) => (result.ok ? [{ ...result.registry, text }] : []));
  const build = (name: string): Lens => compile(lineage(name, sources), registries);
  return { ok: true, lenses: new Map([...sources.keys()].map((name) => [name, build(name)])) };
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

// Hosts repeat across searches. The limit bounds memory, for about 8,000 hosts of usual length; evicted hosts are analyzed
// again.
const maxCacheBytes = 4 * 1_024 * 1_024;

function createHostCache(): BoundedCache<HostEntry> {
  return createBoundedCache({
    maxBytes: maxCacheBytes,
    bytesOf: (host, { matching, facts }) => 400 + 4 * host.length + 40 * (matching.length + facts.labels.length),
  });
}

function compile(
  sources: readonly Source[],
  registries: readonly (Registry & { text: string })[],
  table = indexRules(sources.flatMap(({ lens }) => lens.rules)),
): Lens {
  const { name, version, lambda } = sources.at(-1)?.lens ?? { name: "", version: "", lambda: 0 };
  const cache = createHostCache();
  // Every host is looked up twice in a row, by `classify` and `facts`.
  let latest = { host: "", entry: analyzeHost("", table, registries) };

  function lookUp(host: string): HostEntry {
    if (host !== latest.host) latest = { host, entry: cache.get(host) ?? analyzeAndCache(host) };
    return latest.entry;
  }

  function analyzeAndCache(host: string): HostEntry {
    const entry = analyzeHost(host, table, registries);
    cache.set(host, entry);
    return entry;
  }

  function classify({ host, path }: { host: string; path: string }): Verdict {
    const { verdict, matching, paths } = lookUp(host);
    const closedPath = `${path.toLowerCase()}/`;
    const isSpecial = table.anyPath?.test(closedPath) === true || paths.some((part) => closedPath.includes(part));
    return isSpecial ? apply(inOrder([...matching, ...table.everywhere], closedPath)) : verdict;
  }

  function decidingRule({ host, path }: { host: string; path: string }): Rule | undefined {
    return decide(inOrder([...lookUp(host).matching, ...table.everywhere], `${path.toLowerCase()}/`)).rule;
  }

  const texts = [...sources, ...registries].map(({ text }) => text);
  const lens: Omit<Lens, "withoutRegistries"> = {
    name,
    version,
    digest: createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16),
    lambda,
    isGeneral: sources.length === 1,
    ruleCount: sources.reduce((count, source) => count + source.lens.rules.length, 0),
    registries: registries.map(({ info }) => info),
    classify,
    decidingRule,
    facts: (host) => lookUp(host).facts,
  };
  if (registries.length > 0) return { ...lens, withoutRegistries: compile(sources, [], table) };
  const plain: Lens = {
    ...lens,
    get withoutRegistries() {
      return plain;
    },
  };
  return plain;
}

interface HostEntry {
  facts: HostFacts;
  /** Verdict for pages whose path matches no rule. */
  verdict: Verdict;
  matching: readonly AppliedRule[];
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

function analyzeHost(host: string, { byHost }: RuleTable, registries: readonly Registry[]): HostEntry {
  const facts = readHost(host);
  const tails = tailsOf(host);
  const written = keysOf(host, tails, facts).flatMap((key) => byHost.get(key) ?? []);
  // The sort is stable, so for the same domain a hand-written rule is applied after that of a registry.
  const matching = [...registryRules(tails, registries, written), ...written];
  return {
    facts,
    verdict: apply(inOrder(matching, undefined)),
    matching,
    paths: matching.flatMap(({ path }) => path ?? []),
  };
}

/**
 * The most specific entry of each registry. A registry lowers only sites that no hand-written rule names, either
 * themselves or through their suffix.
 */
function registryRules(
  tails: readonly string[],
  registries: readonly Registry[],
  written: readonly Rule[],
): AppliedRule[] {
  const isNamed = written.some(({ selector }) => selector !== "label" && selector !== "psl-private");
  return registries.flatMap(({ info, entries }): AppliedRule[] => {
    const domain = tails.find((tail) => entries.has(tail));
    const entry = domain === undefined ? undefined : entries.get(domain);
    if (domain === undefined || entry === undefined || (entry.verb === "cap" && isNamed)) return [];
    return [{ ...entry, selector: "site", value: domain, path: undefined, isOverride: false, line: 0, registry: info }];
  });
}

/** The host, or its last ten labels, and every domain above it. */
function tailsOf(host: string): string[] {
  const parts = host.split(".").slice(-maxLabels);
  return parts.map((_, index) => parts.slice(index).join("."));
}

/** All selectors that can match this host. */
function keysOf(host: string, tails: readonly string[], { suffix, isPrivate, labels }: HostFacts): string[] {
  const suffixParts = suffix.split(".");
  const suffixes = suffixParts.map((_, index) => suffixParts.slice(index).join("."));
  return [
    `host=${host}`,
    ...tails.map((tail) => `site=${tail}`),
    ...tails.filter((tail) => tail !== host).map((tail) => `host-suffix=${tail}`),
    ...suffixes.map((part) => `suffix=${part}`),
    // gov.* matches only country-code domains: gov.uk is a government, gov.com is not.
    ...suffixes.filter((part) => /^[^.]+\.[a-z]{2}$/.test(part)).map((part) => `suffix=${part.replace(/[^.]+$/, "*")}`),
    ...labels.map((label) => `label=${label}`),
    ...(isPrivate ? ["psl-private="] : []),
  ];
}

/** From general to specific. For equal specificity, rules of the category follow those of the base. */
function inOrder(rules: readonly AppliedRule[], path: string | undefined): AppliedRule[] {
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

function apply(rules: readonly AppliedRule[]): Verdict {
  const { tier, rule } = decide(rules);
  if (rule === undefined) return unlisted;
  return rule.registry === undefined ? { tier, why: rule.why } : { tier, why: rule.why, registry: rule.registry };
}

/** The tier after all rules, and the last rule that changed it. */
function decide(rules: readonly AppliedRule[]): { tier: Tier; rule: AppliedRule | undefined } {
  let decision: ReturnType<typeof decide> = { tier: unlisted.tier, rule: undefined };
  for (const rule of rules) {
    const tier = move(decision.tier, rule);
    const isDeciding = rule.verb === "tier" || tier !== decision.tier || decision.rule === undefined;
    if (isDeciding) decision = { tier, rule };
  }
  return decision;
}

function move(from: Tier, { verb, tier }: Rule): Tier {
  if (verb === "tier") return tier;
  return verb === "cap" ? lowerTier(from, tier) : higherTier(from, tier);
}
