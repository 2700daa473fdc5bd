import type { Dialect } from "./dialect.ts";

/** The "external" engine of Open WebUI. It requests the URL of its settings unchanged, and reads a list. */
export const openWebui: Dialect = {
  name: "open-webui",
  title: "Open WebUI",
  documentation: "https://docs.openwebui.com/features/web-search/external",
  method: "POST",
  path: "",
  idHeaders: { user: "x-openwebui-user-id", run: "x-openwebui-chat-id" },
  // WEB_SEARCH_RESULT_COUNT of Open WebUI, which sends it with every search.
  defaultCount: 3,
  parameters: {
    query: { use: "query" },
    count: { use: "count" },
  },
  toResponse: ({ results }) => results.map(({ title, url, snippet }) => ({ link: url, title, snippet })),
  toError: ({ detail }) => ({ error: detail }),
};
