import type { Dialect } from "./dialect.ts";

/** `safesearch=moderate` is the vendor's default. LiteLLM always sends `include_fetch_metadata=True`. */
export const brave: Dialect = {
  name: "brave",
  title: "Brave Search",
  documentation: "https://api-dashboard.search.brave.com/api-reference/web/search/get",
  method: "GET",
  path: "/res/v1/web/search",
  keyHeader: "x-subscription-token",
  defaultCount: 20,
  parameters: {
    q: { use: "query" },
    count: { use: "count" },
    include_fetch_metadata: { use: "ignored" },
    text_decorations: { use: "ignored", note: "Texts are plain." },
    spellcheck: { use: "ignored" },
    units: { use: "ignored" },
    extra_snippets: { use: "ignored" },
    summary: { use: "ignored" },
    enable_rich_callback: { use: "ignored" },
    operators: { use: "ignored" },
    freshness: { use: "refused", group: "freshness" },
    country: { use: "refused", group: "country", neutral: ["us", "all"] },
    search_lang: { use: "refused", group: "language", neutral: ["en"] },
    ui_lang: { use: "refused", group: "language", neutral: ["en-us"] },
    goggles: { use: "refused", group: "domains" },
    goggles_id: { use: "refused", group: "domains" },
    result_filter: { use: "refused", group: "topic", neutral: ["web"] },
    safesearch: { use: "refused", group: "safesearch", neutral: ["off"], defaults: ["moderate"] },
    offset: { use: "refused", group: "paging", neutral: [0] },
  },
  toResponse: ({ query, results }) => ({
    type: "search",
    query: { original: query },
    web: {
      type: "search",
      results: results.map(({ title, url, snippet }) => ({ type: "search_result", title, url, description: snippet })),
    },
  }),
  toError: ({ detail, status, code, request_id }) => ({
    type: "ErrorResponse",
    error: { id: request_id, status, code: code.toUpperCase(), detail, meta: {} },
  }),
};
