import type { Dialect } from "./dialect.ts";

/** LibreChat always sends `safe: "moderate"`. */
export const serper: Dialect = {
  name: "serper",
  title: "Serper",
  documentation: "https://serper.dev/playground",
  method: "POST",
  path: "/search",
  defaultCount: 10,
  parameters: {
    q: { use: "query" },
    num: { use: "count" },
    autocorrect: { use: "ignored" },
    tbs: { use: "refused", group: "freshness" },
    gl: { use: "refused", group: "country", neutral: ["us"] },
    location: { use: "refused", group: "country" },
    hl: { use: "refused", group: "language", neutral: ["en"] },
    type: { use: "refused", group: "topic", neutral: ["search"] },
    safe: { use: "refused", group: "safesearch", neutral: ["off"], defaults: ["moderate"] },
    page: { use: "refused", group: "paging", neutral: [1] },
  },
  toResponse: ({ query, results }) => ({
    searchParameters: { q: query, type: "search" },
    organic: results.map(({ title, url, snippet }, index) => ({ title, link: url, snippet, position: index + 1 })),
  }),
  toError: ({ detail, status }) => ({ message: detail, statusCode: status }),
};
