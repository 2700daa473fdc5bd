import type { SourcePolicy } from "../lib/source-policy.ts";
import { parseJsonObject } from "./parse-json-object.ts";
import type { Adapter, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { readPath } from "./read-path.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Brave Search, which has its own index. Its terms restrict storing and reselling results. */
export const brave: Adapter = {
  name: "brave",
  defaultUrl: "https://api.search.brave.com/res/v1",
  key: "required",
  create: ({ url, key }) => ({
    name: "brave",
    documentation: "https://api-dashboard.search.brave.com/api-reference/web/search/get",
    queryLimit: { characters: 400, words: 50 },
    resultsPerPage: 20,
    // No limit is documented for rules in a URL; with twenty, the line stays below 8 KB.
    domainFilter: { only: 20, block: 20 },
    maxPages: 1,
    costMicros: () => 5_000n,
    request: (search) => request(`${url}/web/search`, key, search),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n, sources }: UpstreamSearch): UpstreamCall {
  const parameters = new URLSearchParams({
    q: query,
    count: String(n),
    // Videos, news and discussions come in separate lists that we do not use.
    result_filter: "web",
    // Otherwise query words are wrapped in <strong> tags.
    text_decorations: "false",
    ...(sources && { goggles: toGoggle(sources) }),
  });
  return { method: "GET", url: `${endpoint}?${parameters.toString()}`, headers: { "x-subscription-token": key } };
}

/**
 * Rules that discard results: all but those of `only`, or those of `block`. A site includes its subdomains.
 * https://api-dashboard.search.brave.com/documentation/resources/goggles
 */
function toGoggle({ only, block }: SourcePolicy): string {
  const rules = only
    ? ["$discard", ...only.map((site) => `$site=${site}`)]
    : block.map((site) => `$discard,site=${site}`);
  return rules.join("\n");
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return readFailure(reply);

  const answer = parseJsonObject(reply.body);
  // Without results, `web` is absent. `type` still shows that this is a search response.
  if (answer?.type === "search" && answer.web === undefined) return { ok: true, hits: [], more: false };

  const hits = readHits(readPath(answer, "web", "results"), { title: "title", url: "url", snippet: "description" });
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function readFailure({ status, headers, body }: UpstreamReply): ParsedReply {
  const texts = readErrorTexts(body);
  if (texts.some((text) => credentialCodes.has(text)) || isTokenMissing(body)) {
    return { ok: false, reason: "credential" };
  }

  // "1, 1419704": seconds until each limit resets, shortest first. The last is the monthly quota.
  // https://api-dashboard.search.brave.com/documentation/guides/rate-limiting
  const resets = (headers["x-ratelimit-reset"] ?? "").split(",").map(readSeconds);
  if (texts.includes("QUOTA_LIMITED")) {
    return { ok: false, reason: "account_empty", retryAfterSeconds: resets.length > 1 ? resets.at(-1) : undefined };
  }
  const reason = reasonForStatus(status);
  return { ok: false, reason, retryAfterSeconds: reason === "throttled" ? resets[0] : undefined };
}

const credentialCodes = new Set([
  "SUBSCRIPTION_TOKEN_INVALID",
  "SUBSCRIPTION_TOKEN_MISSING",
  "SUBSCRIPTION_NOT_FOUND", // a 404
]);

/** A missing header is a 422 VALIDATION like a bad query; only the error's location differs. */
function isTokenMissing(body: string): boolean {
  const errors = readPath(parseJsonObject(body), "error", "meta", "errors");
  return Array.isArray(errors) && errors.some((error) => readPath(error, "loc", 1) === "x-subscription-token");
}

function readSeconds(text: string): number | undefined {
  return /^\s*[1-9]\d{0,8}\s*$/.test(text) ? Number(text) : undefined;
}
