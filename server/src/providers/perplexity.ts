import { parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Perplexity's Search API, which returns results without a generated answer. */
export const perplexity: Adapter = {
  name: "perplexity",
  defaultUrl: "https://api.perplexity.ai",
  key: "required",
  create: ({ url, key }) => ({
    name: "perplexity",
    documentation: "https://docs.perplexity.ai/api-reference/search-post",
    queryLimit: { characters: 2048 },
    resultsPerPage: 20,
    // https://docs.perplexity.ai/docs/search/filters/domain-filter
    domainFilter: { only: 20, block: 20 },
    maxPages: 1,
    costMicros: () => 5_000n,
    request: (search) => request(`${url}/search`, key, search),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n, category, sources }: UpstreamSearch): UpstreamCall {
  return postJson(
    endpoint,
    { authorization: `Bearer ${key}` },
    {
      query,
      max_results: n,
      // A snippet is the page's text up to this length. We would discard most of the default, thousands of tokens.
      max_tokens_per_page: 256,
      ...(category === "research" && { search_mode: "academic" }),
      ...(sources && { search_domain_filter: sources.only ?? sources.block.map((domain) => `-${domain}`) }),
    },
  );
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return readFailure(reply);

  // The documentation marks `results` as required, so a response without it is invalid.
  const hits = readHits(parseJsonObject(reply.body)?.results, { title: "title", url: "url", snippet: "snippet" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function readFailure({ status, body }: UpstreamReply): ParsedReply {
  // For any status: an account without credits may return 401, like a wrong key.
  if (readErrorTexts(body).includes("insufficient_quota")) return { ok: false, reason: "account_empty" };
  return { ok: false, reason: reasonForStatus(status) };
}
