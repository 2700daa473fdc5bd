import {
  describeText,
  describeUnknown,
  type Fault,
  invalidInput,
  listWords,
  maxFaults,
  toPointer,
} from "../http/input/faults.ts";
import {
  describeOnlyLimit,
  type MaxOnlyDomains,
  maxPolicyDomains,
  narrowPolicy,
  normalizeDomain,
  type SourcePolicy,
} from "../lib/source-policy.ts";
import { Problem } from "../problems/problems.ts";
import type { Category } from "../providers/provider.ts";
import { type Dialect, type DomainList, type Group, groups, type Parameter, type Scalar } from "./dialect.ts";

export interface TranslatedSearch {
  search: { query: string; n: number; category?: Category };
  /** The domains that the request allows. They narrow the policy of its key. */
  sources: SourcePolicy | undefined;
  /** Names of parameters that had no effect, for Pennyblack-Ignored. */
  ignored: string[];
  /** `max_results=20` if the request asked for more, for Pennyblack-Capped. */
  capped: string | undefined;
}

export interface TranslateOptions {
  /** Groups and names of parameters that are ignored instead of refused. */
  ignore: ReadonlySet<string>;
  /** The API key of the request. */
  key: string;
  /** Undefined if every list of domains is possible. */
  maxOnly: MaxOnlyDomains;
}

const maxCount = 20;

/** Translates a request of the vendor's API, or throws a problem that lists every parameter that is not accepted. */
export function toSearch(dialect: Dialect, request: unknown, options: TranslateOptions): TranslatedSearch {
  const given = readObject(request);
  const translation: Translation = {
    dialect,
    options,
    found: {},
    sources: undefined,
    ignored: [],
    capped: undefined,
    faults: [],
  };
  for (const [name, value] of Object.entries(given)) {
    // The others would not be reported, and each costs a comparison with every parameter.
    if (translation.faults.length >= maxFaults) break;
    const parameter = Object.hasOwn(dialect.parameters, name) ? dialect.parameters[name] : undefined;
    if (!parameter) applyUnknown(translation, name);
    else if (!isAbsent(value)) apply(translation, name, parameter, value);
  }
  for (const [name, { use }] of Object.entries(dialect.parameters)) {
    if ((use === "query" || use === "required") && isAbsent(given[name]))
      reject(translation, name, "is required", "required");
  }
  const { found, sources, ignored, capped, faults } = translation;
  if (faults.length > 0) throw invalidInput(faults);
  const { query = "", n = dialect.defaultCount, category } = found;
  return { search: { query, n, ...(category && { category }) }, sources, ignored, capped };
}

interface Translation extends Pick<TranslatedSearch, "sources" | "ignored" | "capped"> {
  dialect: Dialect;
  options: TranslateOptions;
  found: Partial<TranslatedSearch["search"]>;
  faults: Fault[];
}

function apply(translation: Translation, name: string, parameter: Parameter, value: unknown): void {
  const { dialect, options, found, ignored } = translation;
  if (dialect.method === "GET" && Array.isArray(value))
    return reject(translation, name, `must be sent once, but was sent ${value.length} times`, "repeated");
  switch (parameter.use) {
    case "query":
      if (typeof value === "string") found.query = value;
      else reject(translation, name, "must be a string", "wrong_type");
      return;
    case "count":
      return applyCount(translation, name, value);
    case "category": {
      const isKnown = typeof value === "string" && Object.hasOwn(parameter.values, value);
      const category = isKnown ? parameter.values[value] : undefined;
      if (category === undefined) refuse(translation, name, "topic");
      else if (category !== "any") found.category = category;
      return;
    }
    case "domains":
      return applyDomains(translation, name, parameter.list, value);
    case "key":
      if (value !== options.key) throw conflictingKeys(name);
      return;
    case "required":
      if (value !== parameter.value) reject(translation, name, `must be \`${parameter.value}\``, "unsupported");
      return;
    case "ignored":
      ignored.push(name);
      return;
    case "refused":
      if (isListed(parameter.defaults, value)) ignored.push(name);
      else if (!isListed(parameter.neutral, value)) refuse(translation, name, parameter.group);
  }
}

function applyCount(translation: Translation, name: string, value: unknown): void {
  const count = readCount(value, translation.dialect.method);
  if (count === undefined) return reject(translation, name, describeCount(value), "out_of_range");
  if (count > maxCount) translation.capped = `${name}=${maxCount}`;
  translation.found.n = Math.min(count, maxCount);
}

/** A list that no upstream can honor is refused, because results from other sites would be charged. */
function applyDomains(translation: Translation, name: string, list: DomainList, value: unknown): void {
  const entries: unknown[] = Array.isArray(value) ? value : [value];
  const sources = entries.length > maxPolicyDomains ? undefined : readDomains(entries, list);
  const fault = sources
    ? describeOnlyLimit(sources.only?.length ?? 0, translation.options.maxOnly)
    : `must have at most ${maxPolicyDomains} entries, which are domains or hosts such as \`example.com\`, without scheme, path or wildcard`;
  if (fault !== undefined) refuse(translation, name, "domains", fault);
  else translation.sources = narrowPolicy(translation.sources, sources);
}

/** Undefined if an entry is not a domain. */
function readDomains(entries: readonly unknown[], list: DomainList): SourcePolicy | undefined {
  const [block, only]: [string[], string[]] = [[], []];
  for (const entry of entries) {
    if (typeof entry !== "string") return undefined;
    const isExcluded = list === "block" || (list === "either" && entry.startsWith("-"));
    const domain = normalizeDomain(list === "either" && isExcluded ? entry.slice(1) : entry);
    if (domain === undefined) return undefined;
    (isExcluded ? block : only).push(domain);
  }
  return { block: [...new Set(block)], ...(only.length > 0 && { only: [...new Set(only)] }) };
}

/** A name that is ignored goes into a header, so it can have no other characters. */
function applyUnknown(translation: Translation, name: string): void {
  const { dialect, options, ignored } = translation;
  if (options.ignore.has(name) && /^\w{1,64}$/.test(name)) ignored.push(name);
  else reject(translation, name, describeUnknown(name, Object.keys(dialect.parameters), kindOf(dialect)), "unknown");
}

function refuse(translation: Translation, name: string, group: Group | undefined, fault?: string): void {
  const { ignore } = translation.options;
  if (group !== undefined && (ignore.has(group) || ignore.has(name))) translation.ignored.push(name);
  else reject(translation, name, describeRefusal(group, fault), "unsupported");
}

function reject({ dialect, faults }: Translation, name: string, detail: string, code: string): void {
  const isInUrl = kindOf(dialect) === "parameter";
  faults.push({ pointer: toPointer("", name), code: isInUrl ? "invalid_parameter" : code, detail });
}

function kindOf({ method }: Dialect): "parameter" | "field" {
  return method === "GET" ? "parameter" : "field";
}

function readObject(request: unknown): Record<string, unknown> {
  if (typeof request === "object" && request !== null && !Array.isArray(request))
    return request as Record<string, unknown>;
  throw invalidInput([{ pointer: "#", code: "wrong_type", detail: "must be a JSON object" }]);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** Undefined if it is not a positive integer. In a URL, numbers are text. */
function readCount(value: unknown, method: Dialect["method"]): number | undefined {
  const count = method === "GET" && typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof count === "number" && Number.isInteger(count) && count >= 1 ? count : undefined;
}

function describeCount(value: unknown): string {
  if (typeof value === "number") return `must be an integer of at least 1, but is ${value}`;
  return `must be an integer of at least 1, but ${typeof value === "string" ? describeText(value) : "has another type"}`;
}

/** In a URL, numbers and booleans are text. Languages and countries are written in either case. */
function isListed(values: readonly Scalar[] | undefined, value: unknown): boolean {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return false;
  const text = String(value).toLowerCase();
  return values?.some((listed) => String(listed).toLowerCase() === text) ?? false;
}

function describeRefusal(group: Group | undefined, fault?: string): string {
  if (group === undefined) return "is not supported with this value";
  return `${fault ?? `is not supported: a search cannot ${groups[group]}`}. Remove it, or add \`${group}\` to \`compat.ignore\` of the key to search without it (in one request: \`Pennyblack-Ignore: ${group}\`)`;
}

function conflictingKeys(name: string): Problem {
  const detail = `the key in ${listWords([name])} differs from the one in the headers`;
  return new Problem("conflicting_credentials", {
    members: { errors: [{ pointer: toPointer("", name), code: "conflicting_credentials", detail }] },
  });
}
