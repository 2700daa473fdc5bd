import { mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { installOnDemand } from "../../../../tools/on-demand/install-on-demand.ts";

// The vendors' own clients, as they are on npm. They are a group of tools/on-demand, because they bring 50 packages.

/** What a program that uses the client learns: the URLs it found with their scores, or the text of an error. */
export type ClientOutcome = { urls: string[]; scores: (number | undefined)[] } | { error: string };

export interface VendorClient {
  name: string;
  /** The compatibility endpoint. */
  dialect: string;
  /** Whether the client itself sends a failed request again. */
  retries: boolean;
  /** The client's own timeout; undefined if it has none. */
  timeoutSeconds?: number;
  search(at: ClientSettings, query: string): Promise<ClientOutcome>;
}

export interface ClientSettings {
  baseUrl: string;
  key: string;
  timeoutSeconds?: number;
  maxRetries?: number;
}

type Results = { results: { url: string; score?: number }[] };

interface TavilyModule {
  tavily(options: object): { search(query: string, options: object): Promise<Results> };
}

interface LangChainModule {
  TavilySearch: new (options: object) => { invoke(input: { query: string }): Promise<Results | { error: string }> };
}

interface ExaModule {
  Exa: new (key?: string, baseUrl?: string) => { search(query: string): Promise<Results> };
}

interface PerplexityModule {
  default: new (options?: object) => { search: { create(body: object): Promise<Results> } };
}

/** Makes the clients available to the programs in a folder. */
export function linkVendorClients(folder: string): void {
  const installed = installOnDemand("clients");
  for (const name of ["@tavily/core", "@perplexity-ai/perplexity_ai", "exa-js"]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(installed, "node_modules", name), link);
  }
}

/** Installs the clients if necessary. */
export async function loadVendorModules() {
  const folder = installOnDemand("clients");
  const load = createRequire(join(folder, "package.json"));
  const perplexity = join(folder, "node_modules/@perplexity-ai/perplexity_ai/dist/index.js");
  return {
    tavily: load("@tavily/core") as TavilyModule,
    langchain: load("@langchain/tavily") as LangChainModule,
    exa: load("exa-js") as ExaModule,
    // It has no CommonJS build.
    perplexity: (await import(pathToFileURL(perplexity).href)) as PerplexityModule,
  };
}

export async function loadVendorClients(): Promise<VendorClient[]> {
  const { tavily, langchain, exa, perplexity } = await loadVendorModules();
  return [
    {
      name: "@tavily/core",
      dialect: "tavily",
      retries: false,
      timeoutSeconds: 0.3,
      search: ({ baseUrl, key, timeoutSeconds }, query) => {
        const client = tavily.tavily({ apiKey: key, apiBaseURL: baseUrl });
        return outcomeOf(client.search(query, { maxResults: 3, timeout: timeoutSeconds }));
      },
    },
    {
      name: "@langchain/tavily",
      dialect: "tavily",
      retries: false,
      search: async ({ baseUrl, key }, query) => {
        const tool = new langchain.TavilySearch({ tavilyApiKey: key, apiBaseUrl: baseUrl, maxResults: 3 });
        return outcomeOf(tool.invoke({ query }));
      },
    },
    {
      name: "exa-js",
      dialect: "exa",
      retries: false,
      search: ({ baseUrl, key }, query) => outcomeOf(new exa.Exa(key, baseUrl).search(query)),
    },
    {
      name: "perplexity_ai",
      dialect: "perplexity",
      retries: true,
      timeoutSeconds: 0.3,
      search: ({ baseUrl, key, timeoutSeconds, maxRetries = 0 }, query) => {
        const timeout = timeoutSeconds === undefined ? {} : { timeout: timeoutSeconds * 1_000 };
        const client = new perplexity.default({ apiKey: key, baseURL: baseUrl, maxRetries, ...timeout });
        return outcomeOf(client.search.create({ query, max_results: 3 }));
      },
    },
  ];
}

/** A tool of LangChain returns an error to its model instead of throwing it. */
async function outcomeOf(search: Promise<Results | { error: string }>): Promise<ClientOutcome> {
  try {
    const found = await search;
    if (!("results" in found)) return { error: found.error };
    return { urls: found.results.map(({ url }) => url), scores: found.results.map(({ score }) => score) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
