import { isTier, type Tier } from "./tier.ts";

/**
 * Which hosts a rule is about:
 * - `host=docs.python.org` is that host alone, `site=cern.ch` the host and everything below it, `host-suffix=github.io`
 *   only what is below it;
 * - `suffix=edu` is a public suffix, and `suffix=ac.*` that one below every country's;
 * - `label=forum` is a host with that word before its registered name, as in forum.example.org;
 * - `psl-private` is a subdomain that a hosting platform gives to its customers;
 * - `any` is every host, for a rule about paths.
 */
export type Selector = "host" | "site" | "host-suffix" | "suffix" | "label" | "psl-private" | "any";

export interface Rule {
  /** Sets the tier, holds it down to this one, or brings it up to this one. */
  verb: "tier" | "cap" | "lift";
  tier: Tier;
  selector: Selector;
  value: string;
  /** The page's path, closed by a slash, contains this. In small letters. */
  path: string | undefined;
  /** Has the last word over rules that are more specific. */
  isOverride: boolean;
  why: string;
  line: number;
}

export type ParsedRule = { ok: true; rule: Rule } | { ok: false; messages: string[] };

export function parseRule(content: string, line: number): ParsedRule {
  const dollar = content.indexOf("$");
  if (dollar === -1) return { ok: false, messages: ["a rule needs a $, a comment begins with !"] };
  const path = content.slice(0, dollar).toLowerCase();
  const fields = content.slice(dollar + 1).split(",");
  const draft: Draft = { messages: [], isOverride: false };
  if (path !== "" && !/^\/[!-~]+$/.test(path)) draft.messages.push("a path begins with / and has no spaces");
  for (const field of fields) readField(field.trim(), draft);
  if (draft.verb === undefined) draft.messages.push("a rule needs one of tier=, cap=, lift=");
  if (draft.why === undefined) draft.messages.push("a rule needs a why=");
  if (draft.selector === undefined && path === "")
    draft.messages.push("a rule needs a host, a site, a suffix or a path");
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
  else draft.messages.push(`"${field.slice(0, 40)}" is no part of a rule`);
}

function readVerb(verb: Rule["verb"], value: string, draft: Draft): void {
  if (draft.verb !== undefined) draft.messages.push("a rule has one of tier=, cap=, lift=, once");
  else if (!isTier(value)) draft.messages.push(`${verb}= must be A, B, C, N, D or E`);
  draft.verb = verb;
  if (isTier(value)) draft.tier = value;
}

function readWhy(value: string, draft: Draft): void {
  // It is shown in a header as it stands, where a token begins with a letter.
  if (!/^[a-z][a-z0-9-]{0,39}$/.test(value))
    draft.messages.push("why= must be words-joined-like-this, up to 40 letters");
  if (draft.why !== undefined) draft.messages.push("why= is given twice");
  draft.why = value;
}

const domainName = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z][a-z0-9-]*$/;

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
  if (draft.selector !== undefined) draft.messages.push(`a rule is about ${draft.selector}= or ${selector}=, not both`);
  if (!selectorPatterns[selector].test(value))
    draft.messages.push(`${selector}= "${value.slice(0, 80)}" does not look right`);
  draft.selector = selector;
  // Pages are compared without it; see canonical-url.ts.
  draft.value = selector === "host" || selector === "site" ? value.replace(/^www\.(?=[^.]+\.)/, "") : value;
}
