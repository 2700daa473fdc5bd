import { canonicalPage, type Lens, type RegistryInfo, type Rule } from "../ranking/ranking.ts";

/** The verdict of a lens on one page, with the rule or list behind it. */
export interface Inspection {
  host: string;
  tier: string;
  why: string;
  /** As written in the lens. Undefined if no rule matches or the tier comes from a registry. */
  rule: string | undefined;
  registry: RegistryInfo | undefined;
}

export function inspectPage(lens: Lens, url: string): Inspection {
  const page = canonicalPage(url);
  const { tier, why, registry } = lens.classify(page);
  const rule = lens.decidingRule(page);
  const isWritten = rule !== undefined && registry === undefined;
  return { host: page.host, tier, why, rule: isWritten ? formatRule(rule) : undefined, registry };
}

function formatRule({ verb, tier, selector, value, path = "", isOverride, why }: Rule): string {
  const pages = selector === "any" ? [] : [value === "" ? selector : `${selector}=${value}`];
  return `${path}$${[`${verb}=${tier}`, ...pages, ...(isOverride ? ["override"] : []), `why=${why}`].join(",")}`;
}
