import { isJsonObject, parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, FailureReason, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readHits } from "./read-hits.ts";
import { readPath } from "./read-path.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Exa, which searches by meaning. Its terms restrict storing and reselling what it finds. */
export const exa: Adapter = {
  name: "exa",
  usualUrl: "https://api.exa.ai",
  key: "required",
  create: ({ url, key }) => ({
    name: "exa",
    documentation: "https://exa.ai/docs/reference/search",
    longestQuery: { characters: 2048 },
    resultsPerPage: 20,
    mostPages: 1,
    // Ten results are in the price of a search, each one above is extra.
    costMicros: (n) => 7_000n + 1_000n * BigInt(Math.max(0, n - 10)),
    request: (search) => request(`${url}/search`, key, search),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n, category }: UpstreamSearch): UpstreamCall {
  return postJson(
    endpoint,
    { "x-api-key": key },
    {
      query,
      numResults: n,
      // Without it, results have no text at all.
      contents: { highlights: true },
      // The older values `research paper` and `github` are refused.
      ...(category === "research" && { category: "publication" }),
    },
  );
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return { ok: false, reason: readReason(reply) };

  // The page calls `results` required, so an answer without the list is none.
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
  ["INSUFFICIENT_SCOPE", "credential"], // a 403 about what this key may do
  ["NO_MORE_CREDITS", "account_empty"],
  ["API_KEY_BUDGET_EXCEEDED", "account_empty"],
  ["TEAM_BUDGET_EXCEEDED", "account_empty"],
  ["RATE_LIMIT_EXCEEDED", "throttled"],
]);
