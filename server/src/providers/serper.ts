import { parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type { Adapter, ParsedReply, UpstreamCall, UpstreamReply, UpstreamSearch } from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** Serper, which returns Google's results. */
export const serper: Adapter = {
  name: "serper",
  defaultUrl: "https://google.serper.dev",
  key: "required",
  create: ({ url, key }) => ({
    name: "serper",
    documentation: "https://serper.dev/playground",
    queryLimit: { characters: 2048 },
    // Since September 2025 Google returns ten results per page regardless of `num`.
    resultsPerPage: 10,
    maxPages: 2,
    costMicros: (n) => 1_000n * BigInt(Math.ceil(n / 10)),
    request: (search, page) => request(`${url}/search`, key, search, page),
    response,
  }),
};

function request(endpoint: string, key: string, { query, n }: UpstreamSearch, page: number): UpstreamCall {
  return postJson(endpoint, { "x-api-key": key }, { q: query, num: Math.min(n, 10), page });
}

function response(reply: UpstreamReply): ParsedReply {
  if (reply.status >= 400) return readFailure(reply);

  // `organic` is empty if nothing was found. A response without it is invalid.
  const hits = readHits(parseJsonObject(reply.body)?.organic, { title: "title", url: "link", snippet: "snippet" });
  // Google's pages often have nine results and still a next page, so only an empty page is the last.
  return hits === undefined ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: hits.length > 0 };
}

/** Serper has no error codes, as in `{"message": "Not enough credits", "statusCode": 400}`, so match the message's start. */
function readFailure({ status, body }: UpstreamReply): ParsedReply {
  const texts = readErrorTexts(body);
  if (texts.some((text) => /^not enough credits\b/i.test(text))) return { ok: false, reason: "account_empty" };
  // A wrong key is a 403.
  if (texts.some((text) => /^unauthorized\b/i.test(text))) return { ok: false, reason: "credential" };
  return { ok: false, reason: reasonForStatus(status) };
}
