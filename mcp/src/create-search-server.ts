import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { Pennyblack, PennyblackError, PermissionError } from "@pennyblack/sdk";
import { z } from "zod";
import { type Budget, writeFailure, writeResults, writeWallet } from "./write-answer.ts";

export interface Settings {
  apiKey: string;
  baseUrl: string;
  /** What one conversation may spend, in USD. */
  budget: string;
}

const runTtlSeconds = 30 * 86_400;

/** The server for one conversation, with a budget of its own, which the API keeps. */
export function createSearchServer({ apiKey, baseUrl, budget: max }: Settings): McpServer {
  // Clients give a tool 60 s.
  const pennyblack = new Pennyblack({ apiKey, baseUrl, timeoutMs: 45_000 });
  const run = { id: `mcp-${randomUUID()}`, max, ttl: runTtlSeconds };
  const budget: Budget = { max, searches: 0 };
  // Searches without an answer, by what was asked: asked again, they must not pay again.
  const unanswered = new Map<string, string>();
  const server = new McpServer({ name: "pennyblack", version: "0.1.0" });

  const inputSchema = {
    query: z.string().min(1).max(2_048).describe("What to search for, as you would type it into a search engine."),
    n: z.number().int().min(1).max(20).optional().describe("How many results; 10 if left out."),
    category: z
      .enum(["programming", "research", "gov", "business"])
      .optional()
      .describe("Whose pages to prefer. Leave it out unless one clearly fits."),
  };
  server.registerTool(
    "web_search",
    {
      title: "Web search",
      description: `Search the web. Each search that answers costs 0.01 USD; this conversation may spend ${max} USD. A failure is reported as an error and is never the same as finding nothing.`,
      inputSchema,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    async ({ query, n, category }, { signal }) => {
      const asked = JSON.stringify([query, n, category]);
      const idempotencyKey = unanswered.get(asked) ?? randomUUID();
      unanswered.set(asked, idempotencyKey);
      try {
        const wanted = { ...(n !== undefined && { n }), ...(category && { category }) };
        const answer = await pennyblack.search(query, { ...wanted, run, signal, idempotencyKey });
        unanswered.delete(asked);
        budget.searches += 1;
        return say(writeResults(answer, budget));
      } catch (error) {
        if (!(error instanceof PennyblackError)) throw error;
        if (error.charged === false) unanswered.delete(asked);
        return { ...say(writeFailure(error, budget)), isError: true };
      }
    },
  );

  server.registerTool(
    "wallet_status",
    {
      title: "Wallet status",
      description: "How much money is left for searches, in this conversation and in the wallet. Costs nothing.",
      annotations: { readOnlyHint: true },
    },
    async ({ signal }) => {
      try {
        return say(writeWallet(await pennyblack.wallet({ signal }), budget));
      } catch (error) {
        // Most keys that search may not look into the wallet. The budget is known all the same.
        if (error instanceof PermissionError && error.code === "insufficient_scope")
          return say(writeWallet(undefined, budget));
        if (!(error instanceof PennyblackError)) throw error;
        return { ...say(`The wallet could not be read. Nothing was charged. ${error.detail}`), isError: true };
      }
    },
  );
  return server;
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
