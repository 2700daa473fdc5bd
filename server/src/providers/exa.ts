import { isJsonObject, parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, FailureReason, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readHits } from "./read-hits.ts";
import { readPath } from "./read-path.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Exa, a semantic search engine. Its terms restrict storing and reselling results. */
export const exa: Adapter = {
  name: "exa",
  defaultUrl: "https://api.exa.ai",
  key: "required",
  create: ({ url, key }) => ({
    name: "exa",
    documentation: "https://exa.ai/docs/reference/search",
    queryLimit: { characters: 2048 },
    resultsPerPage: 20,
    // No limit is documented. A policy has at most as many.
    domainFilter: { only: 200, block: 200 },
    maxPages: 1,
    // The price includes ten results; each further result costs extra.
    costMicros: (n) => 7_000n + 1_000n * BigInt(Math.max(0, n - 10)),
    request: (search) => request(`${url}/search`, key, search),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n, category, sources }: UpstreamSearch): UpstreamCall {
  return postJson(
    endpoint,
    { "x-api-key": key },
    {
      query,
      numResults: n,
      // Without this, results have no text.
      contents: { highlights: true },
      // The older values `research paper` and `github` are rejected.
      ...(category === "research" && { category: "publication" }),
      ...(sources && (sources.only ? { includeDomains: sources.only } : { excludeDomains: sources.block })),
    },
  );
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return { ok: false, reason: readReason(reply) };

  // The documentation marks `results` as required, so a response without it is invalid.
  const results = parseJsonObject(reply.body)?.results;
  const items = Array.isArray(results) ? results.map(withSnippet) : undefined;
  const hits = readHits(items, { title: "title", url: "url", snippet: "snippet" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function withSnippet(result: unknown): unknown {
  return isJsonObject(result) ? { ...result, snippet: readPath(result, "highlights", 0) } : result;
}

function readReason({ status, body }: UpstreamReply): FailureReason {
  const tag = parseJsonObject(body)?.tag;
  return (typeof tag === "string" ? reasons.get(tag) : undefined) ?? reasonForStatus(status);
}

// https://exa.ai/docs/reference/error-codes
const reasons = new Map<string, FailureReason>([
  ["INVALID_API_KEY", "credential"],
  ["INSUFFICIENT_SCOPE", "credential"], // a 403 about the key's permissions
  ["NO_MORE_CREDITS", "account_empty"],
  ["API_KEY_BUDGET_EXCEEDED", "account_empty"],
  ["TEAM_BUDGET_EXCEEDED", "account_empty"],
  ["RATE_LIMIT_EXCEEDED", "throttled"],
]);
