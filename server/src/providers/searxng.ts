import { parseJsonObject } from "./parse-json-object.ts";
import type { Adapter, Category, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** SearXNG and the older searx, run by the operator. Its settings must list `json` under `search.formats`. */
export const searxng: Adapter = {
  name: "searxng",
  key: "none",
  create: ({ url }) => ({
    name: "searxng",
    documentation: "https://docs.searxng.org/dev/search_api.html",
    longestQuery: { characters: 2048 },
    // There is no parameter for the number of results. Most engines give ten to a page, so two pages reach twenty, and
    // the third makes up for what engines repeat.
    resultsPerPage: 10,
    mostPages: 3,
    costMicros: () => 0n,
    // An engine that was throttled is suspended for an hour, during which searx answers 200, empty, without a word of it.
    emptyNeedsProof: true,
    request: (search, page) => request(`${url}/search`, search, page),
    response,
  }),
};

// A hint, not a filter by site: categories only choose among the engines that the operator has switched on.
// https://docs.searxng.org/user/configured_engines.html
const categories: Record<Category, string> = {
  programming: "it",
  research: "science",
  gov: "general,news",
  business: "general,news",
};

// gunicorn, under which searx usually runs, refuses a request line over 4,094 bytes. A query of 2,048 characters can need
// 24,000 when encoded; then we post the same form, which the API takes equally.
const longestGet = 3800;

function request(endpoint: string, search: UpstreamSearch, page: number): UpstreamCall {
  const form = new URLSearchParams({
    format: "json",
    q: escapeQuery(search.query),
    pageno: String(page),
    categories: search.category === undefined ? "general" : categories[search.category],
  }).toString();

  const url = `${endpoint}?${form}`;
  return url.length <= longestGet
    ? { method: "GET", url, headers: {} }
    : { method: "POST", url: endpoint, headers: { "content-type": "application/x-www-form-urlencoded" }, body: form };
}

/**
 * Takes the magic from words that SearXNG would obey instead of searching: `!bang`, `!!redirect`, `:language`, `?engine`
 * (searx) and `<timeout`. It looks at the first character of every word, wherever the word stands, and knows no escape;
 * a leading space changes nothing. So such a word gets an apostrophe in front. Engines ignore it as they do all
 * punctuation, and unlike a double quote it does not cut a phrase in two.
 * https://docs.searxng.org/user/search-syntax.html
 */
function escapeQuery(query: string): string {
  return query.replace(/(?<=^|\s)(?=[!:?<])/g, "'");
}

function response(reply: UpstreamReply): ParsedReply {
  // 403 is SearXNG's word for "JSON is off in my settings". The operator must act, and the caller sees the 403.
  if (reply.status >= 400) return { ok: false, reason: reasonForStatus(reply.status) };

  const answer = parseJsonObject(reply.body);
  const hits = readHits(answer?.results, { title: "title", url: "url", snippet: "content" });
  if (answer === undefined || hits === undefined) return { ok: false, reason: "invalid_response" };

  // With hits, silent engines are everyday life. Without any, they are the reason: the search failed and is not billed.
  const silentEngines = answer.unresponsive_engines;
  if (hits.length === 0 && Array.isArray(silentEngines) && silentEngines.length > 0) {
    return { ok: false, reason: "invalid_response" };
  }

  // It never says whether another page exists. One that brings nothing new ends the asking.
  return { ok: true, hits, more: hits.length > 0 };
}
