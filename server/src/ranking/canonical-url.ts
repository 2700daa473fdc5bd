export interface CanonicalPage {
  /** Canonical URL, for comparison only. */
  key: string;
  /** Without the port. */
  host: string;
  /** Without the query. */
  path: string;
}

/**
 * Canonical form of a URL, to compare pages by. It is never returned to callers, who get the upstream's URL. Expects a
 * cleaned http or https URL.
 */
export function canonicalUrl(address: string): string {
  return canonicalPage(address).key;
}

export function canonicalPage(address: string): CanonicalPage {
  return fromPlainAddress(address) ?? fromAnyAddress(address);
}

// Fast path: most URLs contain nothing that the parser would change, and matching is several times cheaper than parsing.
// The host has no capitals and no port, no path segment is empty or starts with a dot, and each parameter has one equals
// sign. Everything else goes through the URL parser. canonical-url.test.ts compares the two.
const plainAddress =
  /^https?:\/\/((?:[a-z0-9-]+\.)+[a-z]+)((?:\/[\w~!$'()*,;:@&=+-][\w~!$'()*,;:@&=+.%-]*)*)\/*(?:\?((?:[\w.*-]+=[\w.*-]*(?:&(?!$)|$))*))?$/;

function fromPlainAddress(address: string): CanonicalPage | undefined {
  const match = plainAddress.exec(address);
  if (match === null) return undefined;
  const host = withoutWww(match[1] ?? "");
  const path = match[2] || "/";
  const query = match[3] ? plainQuery(match[3]) : "";
  return { key: `https://${host}${path}${query}`, host, path };
}

/** A longer query is compared unchanged, because splitting and sorting hundreds of parameters costs more than ranking the page. */
const maxQueryLength = 500;

function plainQuery(query: string): string {
  if (query.length > maxQueryLength) return `?${query}`;
  const kept = query.split("&").filter((pair) => !isTracking(nameOf(pair).toLowerCase()));
  if (kept.length > 1) kept.sort((a, b) => byCodeUnits(nameOf(a), nameOf(b)));
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}

function nameOf(pair: string): string {
  return pair.slice(0, pair.indexOf("="));
}

function byCodeUnits(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

export function fromAnyAddress(address: string): CanonicalPage {
  const url = new URL(address);
  // http and https are treated as the same page. The setter also drops a port that is now the default.
  url.protocol = "https:";
  url.hostname = withoutWww(url.hostname.replace(/\.$/, ""));
  url.pathname = url.pathname.replace(/(?<!\/)\/+$/, "");
  if (url.search.length <= maxQueryLength + 1) url.search = withoutTracking(url.searchParams).toString();
  url.hash = "";
  return { key: url.href, host: url.hostname, path: url.pathname };
}

/** Removes repeated prefixes, so that the result is idempotent, but keeps a registered name such as `www.com`. */
function withoutWww(host: string): string {
  let start = 0;
  while (host.startsWith("www.", start) && host.indexOf(".", start + 4) > start + 4) start += 4;
  return host.slice(start);
}

function withoutTracking(parameters: URLSearchParams): URLSearchParams {
  const kept = [...parameters].filter(([name]) => !isTracking(name.toLowerCase()));
  const sorted = new URLSearchParams(kept);
  // The sort is stable: `a=1&a=2` and `a=2&a=1` may be different pages.
  sorted.sort();
  return sorted;
}

function isTracking(name: string): boolean {
  return name.startsWith("utm_") || trackingNames.has(name);
}

// Only parameters that track where a visitor came from: ads, shares, mailings. Generic names such as `ref` or `source`
// select the page on some sites.
const trackingNames = new Set(
  `gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid igshid igsh msclkid twclid ttclid li_fat_id yclid ysclid epik
  mc_cid mc_eid _hsenc _hsmi mkt_tok vero_id oly_enc_id oly_anon_id`.split(/\s+/),
);
