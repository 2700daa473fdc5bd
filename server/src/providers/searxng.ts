import { parseJsonObject } from "./parse-json-object.ts";
import type { Adapter, Category, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** SearXNG or searx, run by the operator. Its settings must list `json` under `search.formats`. */
export const searxng: Adapter = {
  name: "searxng",
  key: "none",
  create: ({ url }) => ({
    name: "searxng",
    documentation: "https://docs.searxng.org/dev/search_api.html",
    queryLimit: { characters: 2048 },
    // There is no parameter for the number of results. Most engines return ten per page, so two pages give twenty; the
    // third makes up for duplicates.
    resultsPerPage: 10,
    maxPages: 3,
    costMicros: () => 0n,
    // searx suspends a throttled engine for an hour and then returns empty 200 responses without mentioning it.
    emptyIsUnreliable: true,
    request: (search, page) => request(`${url}/search`, search, page),
    response,
  }),
};

// A hint, not a filter: categories only select among the engines that the operator has enabled.
// https://docs.searxng.org/user/configured_engines.html
const categories: Record<Category, string> = {
  programming: "it",
  research: "science",
  gov: "general,news",
  business: "general,news",
};

// gunicorn, which usually serves searx, rejects a request line over 4,094 bytes. A query of 2,048 characters can need
// 24,000 bytes when encoded. Longer queries are sent as POST, which the API also accepts.
const maxGetLength = 3800;

function request(endpoint: string, search: UpstreamSearch, page: number): UpstreamCall {
  const form = new URLSearchParams({
    format: "json",
    q: escapeQuery(search.query),
    pageno: String(page),
    categories: search.category === undefined ? "general" : categories[search.category],
  }).toString();

  const url = `${endpoint}?${form}`;
  return url.length <= maxGetLength
    ? { method: "GET", url, headers: {} }
    : { method: "POST", url: endpoint, headers: { "content-type": "application/x-www-form-urlencoded" }, body: form };
}

/**
 * Escapes words that SearXNG interprets as commands: `!bang`, `!!redirect`, `:language`, `?engine` (searx) and `<timeout`.
 * It checks the first character of every word and has no escape syntax, so such a word gets a leading apostrophe.
 * Engines ignore it like other punctuation, and unlike a double quote it does not split a phrase.
 * https://docs.searxng.org/user/search-syntax.html
 */
function escapeQuery(query: string): string {
  return query.replace(/(?<=^|\s)(?=[!:?<])/g, "'");
}

function response(reply: UpstreamReply): ParsedReply {
  // SearXNG returns 403 if JSON is disabled in its settings. The operator must fix that; the caller gets the 403.
  if (reply.status >= 400) return { ok: false, reason: reasonForStatus(reply.status) };

  const answer = parseJsonObject(reply.body);
  const hits = readHits(answer?.results, { title: "title", url: "url", snippet: "content" });
  if (answer === undefined || hits === undefined) return { ok: false, reason: "invalid_response" };

  // Unresponsive engines are normal if there are hits. Without hits they mean that the search failed; it is not charged.
  const silentEngines = answer.unresponsive_engines;
  if (hits.length === 0 && Array.isArray(silentEngines) && silentEngines.length > 0) {
    return { ok: false, reason: "invalid_response" };
  }

  // There is no indication of further pages. collectHits stops at a page without new hits.
  return { ok: true, hits, more: hits.length > 0 };
}
