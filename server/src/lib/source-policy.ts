import { isIPv4 } from "node:net";
import { domainToASCII } from "node:url";

/** The domains, each with its subdomains, whose pages a search may return. In the form of `normalizeDomain`. */
export interface SourcePolicy {
  block: readonly string[];
  /** Undefined for every domain that is not blocked. An empty list allows none. */
  only?: readonly string[];
}

/** In both lists of a key, and in those of a request. Their combination takes quadratic time. */
export const maxPolicyDomains = 200;

/** The limit of DNS. */
export const maxDomainLength = 253;

const domain = /^(?:[a-z\d_](?:[a-z\d_-]{0,61}[a-z\d_])?\.)+[a-z\d](?:[a-z\d-]{0,61}[a-z\d])$/;

/**
 * The ASCII form in lower case of a domain or host such as `example.com`, `docs.example.com` or `bücher.example`, as URLs have
 * it. Undefined for everything else: a top-level domain, an IP address, a URL, a wildcard.
 */
export function normalizeDomain(text: string): string | undefined {
  // Checked first, because the conversion takes quadratic time. The parser removes some characters and stops at others.
  if (text.length > maxDomainLength || /[^\p{L}\p{M}\p{N}._\u00b7\u30fb-]/u.test(text)) return undefined;
  const host = domainToASCII(text).replace(/\.$/, "");
  return domain.test(host) && host.length <= maxDomainLength && !isIPv4(host) ? host : undefined;
}

/** `hostname` as in a parsed URL. */
export function allowsHost({ block, only }: SourcePolicy, hostname: string): boolean {
  // A host with a trailing dot is the same host.
  const host = hostname.replace(/\.+$/, "");
  return (only === undefined || includesHost(only, host)) && !includesHost(block, host);
}

/** The most domains that an upstream can restrict a search to: 0 if none can, undefined if no upstream is configured. */
export type MaxOnlyDomains = number | undefined;

/** Why no upstream can restrict a search to so many domains, as a predicate. Undefined if one can. */
export function describeOnlyLimit(count: number, max: MaxOnlyDomains): string | undefined {
  if (max === undefined || count <= max) return undefined;
  if (max === 0) return "is not possible: no search provider of this service can restrict a search to domains";
  return `must have at most ${max} domains, the limit of the search providers of this service, but has ${count}`;
}

/** What both allow. `only` is empty if they have no domain in common. */
export function narrowPolicy(
  own: SourcePolicy | undefined,
  requested: SourcePolicy | undefined,
): SourcePolicy | undefined {
  if (!own || !requested) return own ?? requested;
  const only = own.only && requested.only ? intersect(own.only, requested.only) : (own.only ?? requested.only);
  return { block: [...new Set([...own.block, ...requested.block])], ...(only && { only }) };
}

/** The domains of `only` from which a result is possible: those that are not blocked. */
export function possibleDomains({ block, only }: SourcePolicy): string[] | undefined {
  return only?.filter((each) => !includesHost(block, each));
}

/** Of a domain and a subdomain of it, both allow only the subdomain. */
function intersect(own: readonly string[], requested: readonly string[]): string[] {
  const common = [
    ...own.filter((each) => includesHost(requested, each)),
    ...requested.filter((each) => includesHost(own, each)),
  ];
  return [...new Set(common)];
}

function includesHost(domains: readonly string[], host: string): boolean {
  return domains.some((each) => host === each || host.endsWith(`.${each}`));
}
