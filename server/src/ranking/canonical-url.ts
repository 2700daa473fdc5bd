/**
 * One spelling for addresses that lead to the same page. It is a key to compare by and is never shown: the caller gets
 * the address that the upstream gave. Expects an http or https address that has been cleaned.
 */
export function canonicalUrl(address: string): string {
  const url = new URL(address);
  // Which of the two a page is served by says nothing about the page. The setter also drops a port that is now the default.
  url.protocol = "https:";
  // All of them at once, or the key of a key would differ; but `www.com` is somebody's name.
  url.hostname = url.hostname.replace(/\.$/, "").replace(/^(?:www\.)+(?=[^.]+\.)/, "");
  url.pathname = url.pathname.replace(/\/+$/, "");
  url.search = withoutTracking(url.searchParams).toString();
  url.hash = "";
  return url.href;
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
