import { parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Tavily, a search engine for agents. */
export const tavily: Adapter = {
  name: "tavily",
  defaultUrl: "https://api.tavily.com",
  key: "required",
  create: ({ url, key }) => ({
    name: "tavily",
    documentation: "https://docs.tavily.com/documentation/api-reference/endpoint/search",
    queryLimit: { characters: 400 },
    resultsPerPage: 20,
    domainFilter: { only: 300, block: 150 },
    maxPages: 1,
    // One credit at the pay-as-you-go price. `advanced` depth would cost two.
    costMicros: () => 8_000n,
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
      search_depth: "basic",
      topic: category === "business" ? "finance" : "general",
      ...(sources && (sources.only ? { include_domains: sources.only } : { exclude_domains: sources.block })),
    },
  );
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return { ok: false, reason: readReason(reply.status) };

  // The documentation marks `results` as required, so a response without it is invalid.
  const hits = readHits(parseJsonObject(reply.body)?.results, { title: "title", url: "url", snippet: "content" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function readReason(status: number) {
  // Tavily's own statuses for the limit of the plan and of pay-as-you-go.
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  return status === 432 || status === 433 ? "account_empty" : reasonForStatus(status);
}
