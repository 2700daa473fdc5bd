import { isTier, type Tier } from "./tier.ts";

/**
 * The hosts a rule matches:
 * - `host=docs.python.org`: only that host. `site=cern.ch`: the host and its subdomains. `host-suffix=github.io`: only
 *   its subdomains.
 * - `suffix=edu`: a public suffix. `suffix=ac.*`: that suffix under every country code.
 * - `label=forum`: a host with that label before its registered domain, such as forum.example.org.
 * - `psl-private`: a subdomain that a hosting platform assigns to its customers.
 * - `any`: every host, for path rules.
 */
export type Selector = "host" | "site" | "host-suffix" | "suffix" | "label" | "psl-private" | "any";

export interface Rule {
  /** `tier` sets the tier, `cap` lowers it to at most this one, `lift` raises it to at least this one. */
  verb: "tier" | "cap" | "lift";
  tier: Tier;
  selector: Selector;
  value: string;
  /** Lower-case text that the page's path, with a trailing slash, must contain. */
  path: string | undefined;
  /** Takes precedence over more specific rules. */
  isOverride: boolean;
  why: string;
  line: number;
}

export type ParsedRule = { ok: true; rule: Rule } | { ok: false; messages: string[] };

export function parseRule(content: string, line: number): ParsedRule {
  const dollar = content.indexOf("$");
  if (dollar === -1) return { ok: false, messages: ["a rule must contain $; a comment starts with !"] };
  const path = content.slice(0, dollar).toLowerCase();
  const fields = content.slice(dollar + 1).split(",");
  const draft: Draft = { messages: [], isOverride: false };
  if (path !== "" && !/^\/[!-~]+$/.test(path)) draft.messages.push("a path must start with / and have no spaces");
  for (const field of fields) readField(field.trim(), draft);
  if (draft.verb === undefined) draft.messages.push("a rule must have tier=, cap= or lift=");
  if (draft.why === undefined) draft.messages.push("a rule must have why=");
  if (draft.selector === undefined && path === "") draft.messages.push("a rule must have a host, site, suffix or path");
  const { verb, tier, why, messages } = draft;
  if (messages.length > 0 || verb === undefined || tier === undefined || why === undefined) {
    return { ok: false, messages };
  }
  const { selector = "any", value = "", isOverride } = draft;
  return { ok: true, rule: { verb, tier, selector, value, path: path || undefined, isOverride, why, line } };
}

interface Draft extends Partial<Pick<Rule, "verb" | "tier" | "selector" | "value" | "why">> {
  isOverride: boolean;
  messages: string[];
}

function readField(field: string, draft: Draft): void {
  const equals = field.indexOf("=");
  const name = equals === -1 ? field : field.slice(0, equals);
  const value = equals === -1 ? "" : field.slice(equals + 1).trim();
  if (name === "tier" || name === "cap" || name === "lift") readVerb(name, value, draft);
  else if (name === "why") readWhy(value, draft);
  else if (name === "override" && equals === -1) draft.isOverride = true;
  else if (isSelector(name)) readSelector(name, value, draft);
  else draft.messages.push(`unknown field "${field.slice(0, 40)}"`);
}

function readVerb(verb: Rule["verb"], value: string, draft: Draft): void {
  if (draft.verb !== undefined) draft.messages.push("a rule can have only one of tier=, cap= and lift=");
  else if (!isTier(value)) draft.messages.push(`${verb}= must be A, B, C, N, D or E`);
  draft.verb = verb;
  if (isTier(value)) draft.tier = value;
}

function readWhy(value: string, draft: Draft): void {
  // Sent unchanged in a header, where a token must start with a letter.
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(value))
    draft.messages.push("why= must be lower-case-words-with-hyphens, up to 40 characters");
  if (draft.why !== undefined) draft.messages.push("why= is repeated");
  draft.why = value;
}

export const domainName = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/;

const selectorPatterns: Readonly<Record<Exclude<Selector, "any">, RegExp>> = {
  host: domainName,
  site: domainName,
  "host-suffix": domainName,
  suffix: /^(?:[a-z0-9-]+\.)*(?:[a-z0-9-]+|\*)$/,
  label: /^[a-z0-9-]+$/,
  "psl-private": /^$/,
};

function isSelector(name: string): name is Exclude<Selector, "any"> {
  return Object.hasOwn(selectorPatterns, name);
}

function readSelector(selector: Exclude<Selector, "any">, value: string, draft: Draft): void {
  if (draft.selector !== undefined) draft.messages.push(`a rule can have ${draft.selector}= or ${selector}=, not both`);
  if (!selectorPatterns[selector].test(value)) draft.messages.push(`invalid ${selector}= "${value.slice(0, 80)}"`);
  draft.selector = selector;
  // canonical-url.ts removes the prefix from pages too.
  draft.value = selector === "host" || selector === "site" ? value.replace(/^www\.(?=[^.]+\.)/, "") : value;
}
