import { randomBytes } from "node:crypto";

export interface SearxEngines {
  /** The path of an index of documents, searched under every category that we send. */
  index?: string | undefined;
  /**
   * A server that answers `?q=...&page=...` with `{"results": [{"title", "url", "content"}]}`, in category "general"
   * alone. What goes wrong there goes wrong in searx as it would with a search engine of the web.
   */
  engineUrl?: string | undefined;
}

/** A whole settings file, since Debian's searx comes with none. JSON, which is YAML as well. */
export function searxSettings({ index, engineUrl }: SearxEngines): string {
  return JSON.stringify({
    general: { debug: false, instance_name: "searx", contact_url: false, enable_stats: false },
    brand: links,
    // An engine that failed is asked again the next time; only a 429 or a captcha suspends it, for an hour.
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

// Every word between quotes, or "c++" and "node.js" would be faults in SQLite's language of search. A page need not
// have all words, as on the web; the one that has more of them, or has them in its title, comes first. searx adds the
// limit and the offset of the page.
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
