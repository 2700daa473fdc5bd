import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import { compressFiles } from "../../tools/compress-files.ts";

// Builds the site under /docs from the pages in this folder. Each page's source is copied beside it, so that
// /docs/<page>.md is the Markdown of /docs/<page>.

const start = [
  { text: "Quickstart", link: "/quickstart" },
  { text: "Tutorial", link: "/tutorial" },
  { text: "Examples", link: "/examples" },
  { text: "Console", link: "/console" },
  { text: "API keys", link: "/api-keys" },
  { text: "Test mode", link: "/test-mode" },
  { text: "Pricing", link: "/pricing" },
  { text: "Comparison", link: "/comparison" },
];

const libraries = [
  { text: "TypeScript SDK", link: "/sdk" },
  { text: "Python client", link: "/python" },
  { text: "Vercel AI SDK", link: "/ai-sdk" },
  { text: "Command line", link: "/cli" },
  { text: "Settings as code", link: "/apply" },
];

const openapi: unknown = JSON.parse(readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"));
const { tags } = openapi as { tags: { name: string }[] };
const reference = tags.map(({ name }) => ({ text: name, link: `/reference/${name.toLowerCase()}` }));

const guides = [
  { text: "Errors and retries", link: "/errors" },
  { text: "Rate limits", link: "/rate-limits" },
  { text: "Idempotency", link: "/idempotency" },
  { text: "Budgets", link: "/budgets" },
  { text: "Assistants and agents (MCP)", link: "/mcp" },
  { text: "Ranking", link: "/ranking" },
  { text: "Top-ups", link: "/top-ups" },
  { text: "Receipts", link: "/receipts" },
  { text: "Webhooks", link: "/webhooks" },
  { text: "Stability", link: "/stability" },
  { text: "Glossary", link: "/glossary" },
];

const compat = [
  { text: "Tavily", link: "/compat/tavily" },
  { text: "Perplexity Search", link: "/compat/perplexity" },
  { text: "Exa", link: "/compat/exa" },
  { text: "Brave Search", link: "/compat/brave" },
  { text: "Serper", link: "/compat/serper" },
  { text: "SearXNG", link: "/compat/searxng" },
  { text: "Open WebUI", link: "/compat/open-webui" },
];

const integrations = [
  { text: "n8n", link: "/integrations/n8n" },
  { text: "LibreChat", link: "/integrations/librechat" },
  { text: "Open WebUI", link: "/integrations/open-webui" },
  { text: "LiteLLM", link: "/integrations/litellm" },
  { text: "Dify", link: "/integrations/dify" },
  { text: "hermes-agent", link: "/integrations/hermes-agent" },
  { text: "OpenClaw", link: "/integrations/openclaw" },
];

const operators = [
  { text: "Install", link: "/install" },
  { text: "Settings", link: "/settings" },
  { text: "Providers", link: "/providers" },
  { text: "Operate", link: "/operate" },
  { text: "Security", link: "/security" },
  { text: "Personal data", link: "/personal-data" },
  { text: "Reliability", link: "/reliability" },
  { text: "Performance", link: "/performance" },
  { text: "Scaling", link: "/scaling" },
  { text: "Observability", link: "/observability" },
  { text: "Metrics", link: "/metrics" },
  { text: "Status page", link: "/status-page" },
  { text: "Accounting", link: "/accounting" },
  { text: "Upgrading", link: "/upgrading" },
  { text: "Releases", link: "/releasing" },
];

const runbooks = readdirSync(new URL("../runbooks/", import.meta.url))
  .map((file) => file.replace(/\.md$/, ""))
  .toSorted();

const codes = readdirSync(new URL("../problems/", import.meta.url))
  .map((file) => file.replace(/\.md$/, ""))
  .toSorted();

export default defineConfig({
  title: "Pennyblack",
  description: "Prepaid web search: 0.01 USD per search, charged only when it succeeds.",
  lang: "en",
  base: "/docs/",
  // For contributors, not for users.
  srcExclude: ["decisions/**"],
  cleanUrls: true,
  // Moves per-page data out of inline scripts, which the content security policy blocks.
  metaChunk: true,
  // true would insert a style element at run time, which the policy also blocks.
  appearance: { disableTransition: false },
  // The search index is one file, which is loaded when the search is opened.
  vite: { build: { chunkSizeWarningLimit: 1_000 } },
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/docs/favicon.svg" }]],
  markdown: { theme: { light: "github-light-high-contrast", dark: "github-dark-dimmed" } },
  transformHead: ({ pageData }) => [
    ["link", { rel: "alternate", type: "text/markdown", href: `/docs/${pageData.relativePath}` }],
  ],
  buildEnd({ pages, srcDir, outDir }) {
    for (const page of pages) {
      mkdirSync(dirname(join(outDir, page)), { recursive: true });
      copyFileSync(join(srcDir, page), join(outDir, page));
    }
    compressFiles(outDir);
  },
  themeConfig: {
    // A word in a title counts more than a word in the text, and "budget" finds "Budgets" as well as "budget". Only
    // data: VitePress sends functions as text, and the policy blocks their evaluation.
    search: {
      provider: "local",
      options: {
        miniSearch: {
          searchOptions: { boost: { title: 6, titles: 2, text: 1 }, weights: { prefix: 0.95, fuzzy: 0.2 } },
        },
      },
    },
    nav: [
      { text: "Quickstart", link: "/quickstart" },
      { text: "Reference", link: "/reference" },
      { text: "Pricing", link: "/pricing" },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: [
      { text: "Start", items: start },
      { text: "API reference", link: "/reference", collapsed: true, items: reference },
      { text: "Guides", items: guides },
      { text: "Libraries", items: libraries },
      { text: "Compatible APIs", items: [{ text: "Migrating", link: "/migrating" }, ...compat] },
      { text: "Integrations", items: [{ text: "For integrators", link: "/integrators" }, ...integrations] },
      { text: "Operators", items: operators },
      {
        text: "Runbooks",
        collapsed: true,
        items: [
          { text: "All runbooks", link: "/runbooks" },
          ...runbooks.map((name) => ({ text: toTitle(name), link: `/runbooks/${name}` })),
        ],
      },
      {
        text: "Problems",
        collapsed: true,
        items: [
          { text: "All codes", link: "/problems" },
          ...codes.map((code) => ({ text: code, link: `/problems/${code}` })),
        ],
      },
      { text: "Changelog", link: "/changelog" },
    ],
    outline: [2, 3],
    notFound: {
      title: "Page not found",
      quote: "The page may have moved. Use the search at the top to find it.",
      linkText: "Docs home",
    },
  },
});

/** "books-differ" becomes "Books differ". */
function toTitle(name: string): string {
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll("-", " ")}`;
}
