import type { LensFault } from "./parse-lens.ts";
import { domainName } from "./parse-rule.ts";
import { isTier, type Tier } from "./tier.ts";

// A registry is a generated text file: headers, then groups of domains. A line that starts with $ sets what the domains
// below it get; each domain covers its subdomains.
//
//   ! name: cred-1
//   ! title: CRED-1, an open domain-credibility dataset
//   ! source: https://github.com/aloth/cred-1
//   ! licence: CC BY 4.0
//   ! attribution: A. Loth
//   ! retrieved: 2026-11-16
//   ! count: 2
//   $cap=D,why=listed-as-unreliable
//   example.com
//   example.net

/** Domains from a published list. Hand-written rules take precedence. */
export interface Registry {
  info: RegistryInfo;
  entries: ReadonlyMap<string, RegistryEntry>;
}

export interface RegistryInfo {
  name: string;
  title: string;
  /** URL of the list. */
  source: string;
  licence: string;
  attribution: string;
  /** The date of the copy the file was generated from. */
  retrieved: string;
}

export interface RegistryEntry {
  verb: "cap" | "lift";
  tier: Tier;
  why: string;
}

export type ParsedRegistry = { ok: true; registry: Registry } | { ok: false; faults: LensFault[] };

const headerPatterns: Readonly<Record<keyof RegistryInfo | "count", RegExp>> = {
  name: /^[a-z][a-z0-9-]{0,31}$/,
  title: /./,
  // Sent in a header as a quoted string, where parameters are separated by semicolons and members by commas.
  source: /^https:\/\/[\w./~%#?=&+-]{1,120}$/,
  licence: /./,
  attribution: /./,
  retrieved: /^\d{4}-\d{2}-\d{2}$/,
  count: /^\d+$/,
};

/** Never throws. Reports all faults at once. */
export function parseRegistry(text: string): ParsedRegistry {
  const faults: LensFault[] = [];
  const headers = new Map<string, string>();
  const entries = new Map<string, RegistryEntry>();
  let entry: RegistryEntry | undefined;
  for (const [index, content] of text.split("\n").entries()) {
    const line = index + 1;
    if (content === "") continue;
    if (content.startsWith("!")) {
      const [, name = "", value = ""] = /^! ([a-z]+): (.*)$/.exec(content) ?? [];
      if (Object.hasOwn(headerPatterns, name)) headers.set(name, value);
    } else if (content.startsWith("$")) {
      entry = parseGroup(content);
      if (entry === undefined) faults.push({ line, message: "a group must look like $cap=D,why=listed-domain" });
    } else if (!domainName.test(content)) faults.push({ line, message: `invalid domain "${content.slice(0, 80)}"` });
    else if (entries.has(content)) faults.push({ line, message: `${content} is repeated` });
    else if (entry !== undefined) entries.set(content, entry);
    else faults.push({ line, message: "a domain must follow a group" });
  }
  for (const [name, pattern] of Object.entries(headerPatterns)) {
    if (!pattern.test(headers.get(name) ?? "")) faults.push({ line: 1, message: `${name} is missing or invalid` });
  }
  if (faults.length === 0 && Number(headers.get("count")) !== entries.size) {
    faults.push({ line: 1, message: `count is ${headers.get("count")}, but the file lists ${entries.size} domains` });
  }
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, registry: { info: toInfo(headers), entries } };
}

/** A list may lower a site to D and raise one to B, or to A if its reason is a federal government. */
function parseGroup(content: string): RegistryEntry | undefined {
  const [, verb, tier = "", why = ""] = /^\$(cap|lift)=([A-Z]),why=([a-z][a-z0-9-]{0,39})$/.exec(content) ?? [];
  if (!isTier(tier)) return undefined;
  if (verb === "cap") return tier === "N" || tier === "D" ? { verb, tier, why } : undefined;
  const isAllowed = tier === "B" || tier === "C" || (tier === "A" && why === "federal-government");
  return verb === "lift" && isAllowed ? { verb, tier, why } : undefined;
}

function toInfo(headers: ReadonlyMap<string, string>): RegistryInfo {
  const read = (name: keyof RegistryInfo): string => headers.get(name) ?? "";
  return {
    name: read("name"),
    title: read("title"),
    source: read("source"),
    licence: read("licence"),
    attribution: read("attribution"),
    retrieved: read("retrieved"),
  };
}
