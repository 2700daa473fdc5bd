export interface CanonicalPage {
  /** One spelling for all addresses of a page, to compare by. */
  key: string;
  /** Without the port. */
  host: string;
  /** Without the query. */
  path: string;
}

/**
 * One spelling for addresses that lead to the same page. It is a key to compare by and is never shown: the caller gets
 * the address that the upstream gave. Expects an http or https address that has been cleaned.
 */
export function canonicalUrl(address: string): string {
  return canonicalPage(address).key;
}

export function canonicalPage(address: string): CanonicalPage {
  return fromPlainAddress(address) ?? fromAnyAddress(address);
}

// Most addresses hold nothing that a parser would change, and looking is several times cheaper than parsing. The host has
// no capitals and no port; no part of the path is empty or begins with a dot; each parameter has one
// equals sign. Everything else takes the long way. canonical-url.test.ts compares the two.
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

function plainQuery(query: string): string {
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
  // Which of the two a page is served by says nothing about the page. The setter also drops a port that is now the default.
  url.protocol = "https:";
  url.hostname = withoutWww(url.hostname.replace(/\.$/, ""));
  url.pathname = url.pathname.replace(/(?<!\/)\/+$/, "");
  url.search = withoutTracking(url.searchParams).toString();
  url.hash = "";
  return { key: url.href, host: url.hostname, path: url.pathname };
}

/** All of them at once, or the key of a key would differ; but `www.com` is somebody's name. */
function withoutWww(host: string): string {
  let start = 0;
  while (host.startsWith("www.", start) && host.indexOf(".", start + 4) > start + 4) start += 4;
  return host.slice(start);
}

function withoutTracking(parameters: URLSearchParams): URLSearchParams {
  const kept = [...parameters].filter(([name]) => !isTracking(name.toLowerCase()));
  const sorted = new URLSearchParams(kept);
  // Stable: `a=1&a=2` and `a=2&a=1` may be two pages.
  sorted.sort();
  return sorted;
}

function isTracking(name: string): boolean {
  return name.startsWith("utm_") || trackingNames.has(name);
}

// Only names that mark where a visitor came from: a click on an advertisement, a share, a mailing. A general word such as
// `ref` or `source` chooses the page on some sites.
const trackingNames = new Set(
  `gclid gclsrc dclid gbraid wbraid srsltid _ga _gl fbclid igshid igsh msclkid twclid ttclid li_fat_id yclid ysclid epik
  mc_cid mc_eid _hsenc _hsmi mkt_tok vero_id oly_enc_id oly_anon_id`.split(/\s+/),
);
