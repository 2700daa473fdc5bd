import type { Dialect } from "./dialect.ts";
import { rankScore } from "./rank-score.ts";

/** exa-js sends `contents` with every search, so it is never refused, and expects the text that it requests. */
export const exa: Dialect = {
  name: "exa",
  title: "Exa",
  documentation: "https://exa.ai/docs/reference/search",
  method: "POST",
  path: "/search",
  defaultCount: 10,
  parameters: {
    query: { use: "query" },
    numResults: { use: "count" },
    category: {
      use: "category",
      values: {
        publication: "research",
        "research paper": "research",
        company: "business",
        "financial report": "business",
        github: "programming",
      },
    },
    contents: { use: "ignored", note: "`text` and `highlights` contain the snippet." },
    type: { use: "ignored" },
    useAutoprompt: { use: "ignored" },
    flags: { use: "ignored" },
    context: { use: "ignored" },
    includeDomains: { use: "domains", list: "only" },
    excludeDomains: { use: "domains", list: "block" },
    startPublishedDate: { use: "refused", group: "freshness" },
    endPublishedDate: { use: "refused", group: "freshness" },
    startCrawlDate: { use: "refused", group: "freshness" },
    endCrawlDate: { use: "refused", group: "freshness" },
    includeText: { use: "refused", group: "text" },
    excludeText: { use: "refused", group: "text" },
    userLocation: { use: "refused", group: "country" },
    moderation: { use: "refused", group: "safesearch", neutral: [false] },
    outputSchema: { use: "refused", group: "answer" },
    systemPrompt: { use: "refused", group: "answer" },
    additionalQueries: { use: "refused", group: "text" },
    stream: { use: "refused", neutral: [false] },
  },
  toResponse: ({ results }, { requestId }) => ({
    requestId,
    // Exa's ids of pages are their URLs.
    results: results.map(({ title, url, snippet }, index) => ({
      id: url,
      title,
      url,
      score: rankScore(index),
      text: snippet,
      highlights: [snippet],
    })),
  }),
  toError: ({ detail, code, request_id }) => ({ error: detail, tag: code.toUpperCase(), requestId: request_id }),
};
