import type { Category, SearchResponse } from "@pennyblack/sdk";
import { ApiProblem, apiWithHeaders } from "./client.ts";
import { walletPath } from "./wallet.ts";

export interface SearchInput {
  keyId: string;
  query: string;
  n: number;
  category: Category | undefined;
}

export interface PlaygroundResponse {
  status: number;
  headers: Headers;
  /** Round-trip time measured in the browser. */
  ms: number;
  body: unknown;
  answer?: SearchResponse;
  problem?: ApiProblem;
}

export async function runSearch(walletId: string, input: SearchInput): Promise<PlaygroundResponse> {
  const { keyId, query, n, category } = input;
  const startedMs = performance.now();
  try {
    const { status, headers, body, ms } = await apiWithHeaders<SearchResponse>(
      walletPath(walletId, "playground/search"),
      {
        method: "POST",
        body: { key_id: keyId, query, n, ...(category && { category }), explain: true },
      },
    );
    return { status, headers, ms, body, answer: body };
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.code === "session_required") throw error;
    const { status, headers, members: body } = error;
    return { status, headers, ms: performance.now() - startedMs, body, problem: error };
  }
}
