import type { Dialect } from "./dialect.ts";

/** The client shows `message` of an error, or else the whole body as JSON. */
export const perplexity: Dialect = {
  name: "perplexity",
  title: "Perplexity Search",
  documentation: "https://docs.perplexity.ai/api-reference/search-post",
  method: "POST",
  path: "/search",
  defaultCount: 10,
  parameters: {
    query: { use: "query" },
    max_results: { use: "count" },
    search_mode: { use: "category", values: { web: "any", academic: "research" } },
    search_type: { use: "refused", group: "topic", neutral: ["web"] },
    max_tokens: { use: "ignored", note: "A snippet has at most 1,000 characters." },
    max_tokens_per_page: { use: "ignored", note: "A snippet has at most 1,000 characters." },
    search_context_size: { use: "ignored" },
    display_server_time: { use: "ignored" },
    search_domain_filter: { use: "domains", list: "either" },
    search_recency_filter: { use: "refused", group: "freshness" },
    search_after_date_filter: { use: "refused", group: "freshness" },
    search_before_date_filter: { use: "refused", group: "freshness" },
    last_updated_after_filter: { use: "refused", group: "freshness" },
    last_updated_before_filter: { use: "refused", group: "freshness" },
    country: { use: "refused", group: "country" },
    search_language_filter: { use: "refused", group: "language" },
  },
  toResponse: ({ results }, { requestId }) => ({
    id: requestId,
    results: results.map(({ title, url, snippet }) => ({ title, url, snippet, date: null, last_updated: null })),
  }),
  toError: ({ detail, code, status }) => ({ message: detail, error: { message: detail, type: code, code: status } }),
};
