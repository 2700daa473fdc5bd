import { isJsonObject, parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, FailureReason, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { readPath } from "./read-path.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** You.com's web search. */
export const you: Adapter = {
  name: "you",
  defaultUrl: "https://ydc-index.io/v1",
  key: "required",
  create: ({ url, key }) => ({
    name: "you",
    documentation: "https://you.com/docs/api-reference/search/v1-search",
    queryLimit: { characters: 2048 },
    resultsPerPage: 20,
    // https://you.com/docs/api-reference/search/v1-search-post
    domainFilter: { only: 500, block: 500 },
    maxPages: 1,
    costMicros: () => 5_000n,
    request: (search) => request(`${url}/search`, key, search),
    response,
  }),
};

// No limit is documented, but few servers accept a request line over 8 KB, and 2,048 characters can need three times that.
const maxGetLength = 3800;

function request(endpoint: string, key: string, { query, n, sources }: UpstreamSearch): UpstreamCall {
  const headers = { "x-api-key": key };
  // The vendor recommends POST for lists. It rejects both in one request.
  if (sources) {
    const domains = sources.only ? { include_domains: sources.only } : { exclude_domains: sources.block };
    return postJson(endpoint, headers, { query, count: n, ...domains });
  }
  const url = `${endpoint}?${new URLSearchParams({ query, count: String(n) }).toString()}`;
  // The endpoint accepts the same fields as JSON. https://you.com/docs/support/troubleshooting
  return url.length <= maxGetLength
    ? { method: "GET", url, headers }
    : postJson(endpoint, headers, { query, count: n });
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return { ok: false, reason: readReason(reply) };

  const results = parseJsonObject(reply.body)?.results;
  // `web` and `news` are optional: a search that found only news, or nothing, has no `web`. A response without `results`
  // is invalid.
  if (isJsonObject(results) && results.web === undefined) return { ok: true, hits: [], more: false };

  const pages = readPath(results, "web");
  const items = Array.isArray(pages) ? pages.map(withSnippet) : undefined;
  const hits = readHits(items, { title: "title", url: "url", snippet: "snippet" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function withSnippet(page: unknown): unknown {
  return isJsonObject(page) ? { ...page, snippet: readPath(page, "snippets", 0) ?? page.description } : page;
}

// https://you.com/docs/using-the-api/error-code-reference
function readReason({ status, body }: UpstreamReply): FailureReason {
  const texts = readErrorTexts(body);
  // A 429 that waiting does not resolve: the key reached its spending cap for the billing period.
  if (texts.includes("spend_cap_exceeded")) return "account_empty";
  // A 403 about the key's permissions.
  if (texts.some((text) => /^missing required scopes?\b/i.test(text))) return "credential";
  return reasonForStatus(status);
}
