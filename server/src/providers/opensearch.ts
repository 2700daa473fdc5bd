import { parseJsonObject } from "./parse-json-object.ts";
import { postJson } from "./post-json.ts";
import type {
  Adapter,
  FailureReason,
  FieldNames,
  ParsedReply,
  UpstreamCall,
  UpstreamReply,
  UpstreamSearch,
} from "./provider.ts";
import { readErrorTexts } from "./read-error-texts.ts";
import { readHits } from "./read-hits.ts";
import { readPath } from "./read-path.ts";
import { reasonForStatus } from "./reason-for-status.ts";

/** The operator's own index in OpenSearch or Elasticsearch. The URL ends with the name of the index. */
export const opensearch: Adapter = {
  name: "opensearch",
  key: "optional",
  defaultFields: { title: "title", url: "url", snippet: "body" },
  create: ({ url, key, fields }) => ({
    name: "opensearch",
    documentation: "https://docs.opensearch.org/latest/api-reference/search-apis/search/",
    // A query can have 1,024 clauses, and each word needs one per field.
    // https://docs.opensearch.org/latest/install-and-configure/configuring-opensearch/search-settings/
    queryLimit: { characters: 2048, words: 500 },
    resultsPerPage: 20,
    maxPages: 1,
    costMicros: () => 0n,
    request: (search) => request(`${url}/_search`, key, fields, search),
    response: (reply) => response(reply, fields),
  }),
};

function request(endpoint: string, key: string, fields: FieldNames, { query, n }: UpstreamSearch): UpstreamCall {
  return postJson(endpoint, authorization(key), {
    size: n,
    track_total_hits: false,
    // Not the text, which may be very long: the highlight contains as much of it as we need.
    _source: [fields.title, fields.url],
    // Unlike query_string, multi_match has no operators, so a query cannot contain commands.
    query: { multi_match: { query, fields: [`${fields.title}^2`, fields.snippet] } },
    highlight: {
      pre_tags: [""],
      post_tags: [""],
      fields: { [fields.snippet]: { fragment_size: 300, number_of_fragments: 1, no_match_size: 300 } },
    },
  });
}

/** `user:password`, or an Elasticsearch API key in base64. */
function authorization(key: string): Record<string, string> {
  if (key === "") return {};
  return { authorization: key.includes(":") ? `Basic ${Buffer.from(key).toString("base64")}` : `ApiKey ${key}` };
}

function response(reply: UpstreamReply, fields: FieldNames): ParsedReply {
  if (reply.status >= 400) return { ok: false, reason: readReason(reply) };

  const answer = parseJsonObject(reply.body);
  const documents = readPath(answer, "hits", "hits");
  const items = Array.isArray(documents) ? documents.map((document) => flatten(document, fields)) : undefined;
  const hits = readHits(items, { title: "title", url: "url", snippet: "snippet" });
  if (hits === undefined) return { ok: false, reason: "invalid_response" };

  // Partial hits are a valid answer. No hits from failed or timed-out shards are not.
  const failedShards = readPath(answer, "_shards", "failed");
  const isPartial = answer?.timed_out === true || (typeof failedShards === "number" && failedShards > 0);
  return hits.length === 0 && isPartial ? { ok: false, reason: "invalid_response" } : { ok: true, hits, more: false };
}

function flatten(document: unknown, fields: FieldNames): object {
  return {
    title: readField(document, fields.title),
    url: readField(document, fields.url),
    snippet: readPath(document, "highlight", fields.snippet, 0),
  };
}

/** `page.title` is a field of that name or `title` inside `page`, depending on how the document was indexed. */
function readField(document: unknown, name: string): unknown {
  return readPath(document, "_source", name) ?? readPath(document, "_source", ...name.split("."));
}

function readReason({ status, body }: UpstreamReply): FailureReason {
  // A 403 caused by the credential. Other 403s, such as a blocked index, are not.
  return readErrorTexts(body).includes("security_exception") ? "credential" : reasonForStatus(status);
}
