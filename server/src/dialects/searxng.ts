import type { Dialect } from "./dialect.ts";

/**
 * LibreChat always sends `engines=google,bing,duckduckgo` and `safesearch=1`. Open WebUI always sends `safesearch=1`, `theme`
 * and `image_proxy`, and sent `language=en-US` in earlier versions.
 */
export const searxng: Dialect = {
  name: "searxng",
  title: "SearXNG",
  documentation: "https://docs.searxng.org/dev/search_api.html",
  method: "GET",
  path: "/search",
  // Open WebUI sends the user and password of the URL instead of a separate header.
  acceptsBasic: true,
  // SearXNG has no such parameter. This is the first page of most engines.
  defaultCount: 10,
  parameters: {
    q: { use: "query" },
    format: { use: "required", value: "json" },
    categories: { use: "category", values: { general: "any", it: "programming", science: "research" } },
    theme: { use: "ignored" },
    image_proxy: { use: "ignored" },
    autocomplete: { use: "ignored" },
    results_on_new_tab: { use: "ignored" },
    enabled_plugins: { use: "ignored" },
    disabled_plugins: { use: "ignored" },
    time_range: { use: "refused", group: "freshness" },
    language: { use: "refused", group: "language", neutral: ["all", "auto"], defaults: ["en-us"] },
    safesearch: { use: "refused", group: "safesearch", neutral: [0], defaults: [1] },
    engines: { use: "refused", group: "engines", defaults: ["google,bing,duckduckgo"] },
    enabled_engines: { use: "refused", group: "engines" },
    disabled_engines: { use: "refused", group: "engines" },
    pageno: { use: "refused", group: "paging", neutral: [1] },
  },
  toResponse: ({ query, results }) => ({
    query,
    number_of_results: results.length,
    results: results.map(({ title, url, snippet }) => ({ title, url, content: snippet })),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: [],
    unresponsive_engines: [],
  }),
  toError: ({ detail }) => ({ error: detail }),
};
