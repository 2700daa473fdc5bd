import { queryOptions } from "@tanstack/react-query";
import { ApiProblem, api, apiWithHeaders } from "./client.ts";
import { walletPath } from "./wallet.ts";

export const categories = ["programming", "research", "gov", "business"] as const;

export type Category = (typeof categories)[number];

export interface Question {
  keyId: string;
  query: string;
  n: number;
  category: Category | undefined;
}

export interface Hit {
  title: string;
  url: string;
  snippet: string;
  source: string;
}

export interface SearchAnswer {
  query: string;
  n: number;
  results: Hit[];
}

/** What came back, be it an answer or a refusal: the playground shows both in full. */
export interface Outcome {
  status: number;
  headers: Headers;
  /** As this browser saw it. */
  ms: number;
  body: unknown;
  answer?: SearchAnswer;
  problem?: ApiProblem;
}

/** One search, spent by a key of the wallet. */
export async function searchOnce(walletId: string, question: Question): Promise<Outcome> {
  const { keyId, query, n, category } = question;
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

/** The rules that results are ordered by. They are public. */
export const lensesQuery = queryOptions({
  queryKey: ["lenses"],
  queryFn: async () => (await api<{ lenses: Lens[] }>("/v1/lenses")).lenses,
  staleTime: 60_000,
});
