import { randomBytes } from "node:crypto";

export interface SearxEngines {
  /** Path of the document index, searched in every category that we send. */
  index?: string | undefined;
  /**
   * A server that answers `?q=...&page=...` with `{"results": [{"title", "url", "content"}]}`, only in category "general".
   * Its failures have the same effect in searx as those of a web search engine.
   */
  engineUrl?: string | undefined;
}

/** A complete settings file, because Debian's searx has no default one. JSON is valid YAML. */
export function searxSettings({ index, engineUrl }: SearxEngines): string {
  return JSON.stringify({
    general: { debug: false, instance_name: "searx", contact_url: false, enable_stats: false },
    brand: links,
    // Do not suspend failing engines. A 429 or a captcha still suspends one for an hour.
    search: { safe_search: 0, autocomplete: "", default_lang: "en", ban_time_on_fail: 0, max_ban_time_on_fail: 0 },
    server: {
      bind_address: "127.0.0.1",
      port: 8888,
      secret_key: randomBytes(24).toString("hex"),
      base_url: false,
      image_proxy: false,
      http_protocol_version: "1.1",
      method: "GET",
      default_http_headers: {},
    },
    ui: {
      static_path: "/usr/share/python3-searx/static",
      templates_path: "/usr/share/python3-searx/templates",
      default_theme: "oscar",
      default_locale: "en",
      theme_args: { oscar_style: "logicodev" },
    },
    outgoing: { request_timeout: 3, pool_connections: 10, pool_maxsize: 10 },
    locales: { en: "English" },
    doi_resolvers: { "oadoi.org": "https://oadoi.org/" },
    default_doi_resolver: "oadoi.org",
    engines: [
      ...(index === undefined ? [] : [{ ...documents, database: index }]),
      ...(engineUrl === undefined ? [] : [{ ...web, search_url: `${engineUrl}?q={query}&page={pageno}` }]),
    ],
  });
}

const links = {
  git_url: "https://github.com/searx/searx",
  git_branch: "master",
  issue_url: "https://github.com/searx/searx/issues",
  docs_url: "https://searx.github.io/searx",
  public_instances: "https://searx.space",
  wiki_url: "https://github.com/searx/searx/wiki",
};

// Quotes every word, because "c++" and "node.js" are syntax errors in SQLite's full-text queries. A page does not need to
// contain all words; pages with more of them, or with them in the title, come first. searx adds limit and offset.
const documents = {
  name: "documents",
  engine: "sqlite",
  shortcut: "doc",
  categories: "general, it, science, news",
  timeout: 8,
  limit: 10,
  query_str:
    "select title, url, snippet(documents, 1, '', '', ' ... ', 40) as content from documents " +
    `where documents match '"' || replace(replace(:query, '"', ' '), ' ', '" OR "') || '"' ` +
    "order by bm25(documents, 8, 1), rowid",
};

const web = {
  name: "web",
  engine: "json_engine",
  shortcut: "web",
  categories: "general",
  timeout: 3,
  paging: true,
  enable_http: true,
  results_query: "results",
  title_query: "title",
  url_query: "url",
  content_query: "content",
};
