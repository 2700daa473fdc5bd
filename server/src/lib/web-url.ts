/**
 * The limit of sitemaps.org, which search engines apply to the pages they index. Unlike text, a URL cannot be truncated:
 * a few long URLs could fill the context of a language model.
 */
export const maxUrlLength = 2_048;

/**
 * Parses an http or https URL from outside. Undefined for other URLs, and for those with a user or password. The lengths are
 * checked first, because the parser converts internationalized hostnames in quadratic time.
 */
export function parseWebUrl(text: string): URL | undefined {
  if (!hasPossibleLengths(text)) return undefined;
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined;
  if (url.href.length > maxUrlLength || url.hostname.length > maxHostLength) return undefined;
  return url.username === "" && url.password === "" ? url : undefined;
}

// The limits of DNS.
const maxHostLength = 253;
const maxLabelLength = 63;

/** The parser skips white space, and slashes of either kind, before the host. */
const hostInUrl = /^[^:]*:[\\/\s]*([^\\/?#]*)/;

/** Whether a URL and its host are short enough to be parsed. */
export function hasPossibleLengths(text: string): boolean {
  return text.length <= maxUrlLength && hasPossibleHost(text);
}

function hasPossibleHost(text: string): boolean {
  const host = (hostInUrl.exec(text)?.[1] ?? "").replace(/:\d{0,5}$/, "");
  return host.length <= maxHostLength && host.split(".").every((label) => label.length <= maxLabelLength);
}
