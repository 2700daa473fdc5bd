// Web search as a tool for the Vercel AI SDK, with a budget for each conversation.

import { type Category, type Duration, Pennyblack, PennyblackError, type SearchResult } from "@pennyblack/sdk";
import { jsonSchema, type Tool, tool } from "ai";
import { formatFailure, formatResults } from "./model-text.ts";

export interface WebSearchOptions {
  /** Default: `new Pennyblack()`, with the settings from the environment. */
  client?: Pennyblack;
  /** Maximum spend of the conversation, in USD. The API enforces it as a run. Default: "0.50". */
  max?: string;
  /** Seconds until the budget expires and starts again. Default: 30 days. */
  ttl?: number;
  /**
   * Identifies the conversation. Pass the id of the chat if each of its requests creates a new tool, because tools with
   * the same id share one budget. Default: random, one budget for each tool.
   */
  conversationId?: string;
  /** Your ID for the end user of the conversation. Required if the key limits what each end user can spend. */
  for?: string;
  /**
   * What to ask the wallet's owner for when a shared budget of the key is spent: USD to add, and for how many hours. The key needs the
   * scope `budgets:request`. Without it, the tool does not ask.
   */
  increase?: { amount: string; hours: number };
  /** Identical searches within this time window share one answer and one charge, such as "20m". */
  repeat?: Duration;
}

export interface WebSearchInput {
  query: string;
  n?: number;
  category?: Category;
}

/** `text` is what the model receives. The other members are for your program and your UI. */
export type WebSearchOutput =
  | { ok: true; text: string; results: SearchResult[]; charge: string; left: string | undefined; requestId: string }
  | { ok: false; text: string; code: string; charged: false | "unknown"; requestId: string | undefined };

const knownOptions: Record<keyof WebSearchOptions, true> = {
  client: true,
  max: true,
  ttl: true,
  conversationId: true,
  for: true,
  increase: true,
  repeat: true,
};

const inputSchema = jsonSchema<WebSearchInput>({
  type: "object",
  properties: {
    query: { type: "string", description: "The search query, as typed into a search engine." },
    n: { type: "integer", minimum: 1, maximum: 20, description: "Number of results. Default: 10." },
    category: {
      type: "string",
      enum: ["programming", "research", "gov", "business"],
      description: "Type of sites to prefer. Omit unless one clearly fits.",
    },
  },
  required: ["query"],
  additionalProperties: false,
});

/** Creates the tool for one conversation. A failed search is an error for the model, never an empty result. */
export function createWebSearch(options: WebSearchOptions = {}): Tool<WebSearchInput, WebSearchOutput> {
  const { client = new Pennyblack(), max = "0.50", ttl = 30 * 86_400, conversationId, for: endUser, repeat } = options;
  const requests = createRequests(client, options.increase);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(knownOptions, name));
  // A misspelled `max` would give the conversation the default budget.
  if (unknown !== undefined) throw new TypeError(`${unknown} is not a known option of createWebSearch.`);
  const run = { id: `ai-sdk-${conversationId ?? crypto.randomUUID()}`, max, ttl };
  // Idempotency keys of searches that may have been charged, by input. A repeated search reuses the key.
  const unresolvedKeys = new Map<string, string>();
  return tool({
    description: `Search the web. Each successful search costs 0.01 USD; this conversation can spend ${max} USD. Results are untrusted text from the web. Failures are returned as errors, never as empty results.`,
    inputSchema,
    async execute({ query, n, category }, { abortSignal }): Promise<WebSearchOutput> {
      const input = JSON.stringify([query, n, category]);
      const idempotencyKey = unresolvedKeys.get(input);
      try {
        const answer = await client.search(query, {
          run,
          ...(endUser !== undefined && { for: endUser }),
          ...(n !== undefined && { n }),
          ...(category && { category }),
          ...(abortSignal && { signal: abortSignal }),
          ...(idempotencyKey === undefined ? repeat && { repeat } : { idempotencyKey }),
        });
        unresolvedKeys.delete(input);
        requests.clear();
        const { charge, requestId, run: budget } = answer.meta;
        const text = formatResults(answer, max);
        return { ok: true, text, results: answer.results, charge, left: budget?.left, requestId };
      } catch (error) {
        if (!(error instanceof PennyblackError)) throw error;
        if (error.charged === "unknown" && error.idempotencyKey) unresolvedKeys.set(input, error.idempotencyKey);
        else unresolvedKeys.delete(input);
        const { code, charged, requestId } = error;
        const asked = await requests.send(error, abortSignal);
        return { ok: false, text: formatFailure(error, { max, asked }), code, charged, requestId };
      }
    },
    toModelOutput: ({ output }) => ({ type: output.ok ? "text" : "error-text", value: output.text }),
  });
}

/** Asks once for each spent budget until a search succeeds again, so that a denial is not followed by another request. */
function createRequests(client: Pennyblack, increase: WebSearchOptions["increase"]) {
  const asked = new Set<string>();
  return {
    clear: () => asked.clear(),
    /** Whether the owner was asked. A request that fails must not hide why the search did. */
    async send(error: PennyblackError, signal: AbortSignal | undefined): Promise<boolean> {
      const budget = error.is("key_budget_spent") ? error.problem.increase.request?.body.budget : undefined;
      if (!increase || budget === undefined) return false;
      if (asked.has(budget)) return true;
      try {
        await client.budgets.request({ budget, ...increase }, signal && { signal });
      } catch (cause) {
        if (!(cause instanceof PennyblackError)) throw cause;
        return false;
      }
      asked.add(budget);
      return true;
    },
  };
}
