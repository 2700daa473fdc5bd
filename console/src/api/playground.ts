import type { Category, SearchResult } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { ApiProblem, api, apiWithHeaders } from "./client.ts";
import { walletPath } from "./wallet.ts";

export interface SearchInput {
  keyId: string;
  query: string;
  n: number;
  category: Category | undefined;
}

export interface SearchAnswer {
  query: string;
  n: number;
  results: SearchResult[];
}

export interface PlaygroundResponse {
  status: number;
  headers: Headers;
  /** Round-trip time measured in the browser. */
  ms: number;
  body: unknown;
  answer?: SearchAnswer;
  problem?: ApiProblem;
}

export async function runSearch(walletId: string, input: SearchInput): Promise<PlaygroundResponse> {
  const { keyId, query, n, category } = input;
  const startedMs = performance.now();
  try {
    const { status, headers, body, ms } = await apiWithHeaders<SearchAnswer>(
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

interface Lens {
  name: string;
  version: string;
  lambda: number;
}

export const lensesQuery = queryOptions({
  queryKey: ["lenses"],
  queryFn: async () => (await api<{ lenses: Lens[] }>("/v1/lenses")).lenses,
  staleTime: 60_000,
});

/** The text of a lens and of the lens it extends. */
export const lensTextsQuery = (name: string) =>
  queryOptions({
    queryKey: ["lenses", name],
    queryFn: () =>
      Promise.all(
        [...new Set([name, "base"])].map(async (each) => ({
          name: each,
          text: await api<string>(`/v1/lenses/${encodeURIComponent(each)}`),
        })),
      ),
    staleTime: 60_000,
  });
