import { parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Perplexity's Search API: results only, no model writes an answer. */
export const perplexity: Adapter = {
  name: "perplexity",
  usualUrl: "https://api.perplexity.ai",
  key: "required",
  create: ({ url, key }) => ({
    name: "perplexity",
    documentation: "https://docs.perplexity.ai/api-reference/search-post",
    longestQuery: { characters: 2048 },
    resultsPerPage: 20,
    mostPages: 1,
    costMicros: () => 5_000n,
    request: (search) => request(`${url}/search`, key, search),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n, category }: UpstreamSearch): UpstreamCall {
  return postJson(
    endpoint,
    { authorization: `Bearer ${key}` },
    {
      query,
      max_results: n,
      // A snippet is a page's text up to this length. The usual thousands of tokens would be thrown away.
      max_tokens_per_page: 256,
      ...(category === "research" && { search_mode: "academic" }),
    },
  );
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return readFailure(reply);

  // The page calls `results` required, so an answer without the list is none.
  const hits = readHits(parseJsonObject(reply.body)?.results, { title: "title", url: "url", snippet: "snippet" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function readFailure({ status, body }: UpstreamReply): ParsedReply {
  // Whatever the status: an account without credits may answer 401 as a wrong key does.
  if (readErrorTexts(body).includes("insufficient_quota")) return { ok: false, reason: "account_empty" };
  return { ok: false, reason: reasonForStatus(status) };
}
