import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { Pennyblack, PennyblackError, PermissionError } from "@pennyblack/sdk";
import { z } from "zod";
import { type Budget, formatError, formatResults, formatWallet } from "./tool-output.ts";

export interface Settings {
  apiKey: string;
  baseUrl: string;
  /** Maximum spend per conversation, in USD. */
  budget: string;
}

const runTtlSeconds = 30 * 86_400;

/** Creates the MCP server for one conversation. The API enforces its budget as a run. */
export function createSearchServer({ apiKey, baseUrl, budget: max }: Settings): McpServer {
  // MCP clients time out a tool call after 60 s.
  const pennyblack = new Pennyblack({ apiKey, baseUrl, timeoutMs: 45_000 });
  const run = { id: `mcp-${randomUUID()}`, max, ttl: runTtlSeconds };
  const budget: Budget = { max, searches: 0 };
  // Idempotency keys of searches that may have been charged, by input. A repeated search reuses the key.
  const unresolvedKeys = new Map<string, string>();
  const server = new McpServer({ name: "pennyblack", version: "0.1.0" });

  const inputSchema = {
    query: z.string().min(1).max(2_048).describe("The search query, as typed into a search engine."),
    n: z.number().int().min(1).max(20).optional().describe("Number of results. Default: 10."),
    category: z
      .enum(["programming", "research", "gov", "business"])
      .optional()
      .describe("Type of sites to prefer. Omit unless one clearly fits."),
  };
  server.registerTool(
    "web_search",
    {
      title: "Web search",
      description: `Search the web. Each successful search costs 0.01 USD; this conversation can spend ${max} USD. Failures are returned as errors, never as empty results.`,
      inputSchema,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    async ({ query, n, category }, { signal }) => {
      const input = JSON.stringify([query, n, category]);
      const idempotencyKey = unresolvedKeys.get(input) ?? randomUUID();
      unresolvedKeys.set(input, idempotencyKey);
      try {
        const options = { ...(n !== undefined && { n }), ...(category && { category }) };
        const answer = await pennyblack.search(query, { ...options, run, signal, idempotencyKey });
        unresolvedKeys.delete(input);
        budget.searches += 1;
        return textResult(formatResults(answer, budget));
      } catch (error) {
        if (!(error instanceof PennyblackError)) throw error;
        if (error.charged === false) unresolvedKeys.delete(input);
        return { ...textResult(formatError(error, budget)), isError: true };
      }
    },
  );

  server.registerTool(
    "wallet_status",
    {
      title: "Wallet status",
      description: "Get the budget of this conversation and the wallet balance. Free.",
      annotations: { readOnlyHint: true },
    },
    async ({ signal }) => {
      try {
        return textResult(formatWallet(await pennyblack.wallet({ signal }), budget));
      } catch (error) {
        // Search keys usually cannot read the wallet. The budget is still known.
        if (error instanceof PermissionError && error.code === "insufficient_scope")
          return textResult(formatWallet(undefined, budget));
        if (!(error instanceof PennyblackError)) throw error;
        return { ...textResult(`Could not read the wallet. You were not charged. ${error.detail}`), isError: true };
      }
    },
  );
  return server;
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
