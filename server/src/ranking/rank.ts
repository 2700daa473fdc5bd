import { canonicalUrl } from "./canonical-url.ts";

/** The first `n` different pages in the upstream's order. Of several spellings of one page, the first is shown. */
export function rank<Result extends { url: string }>({ results, n }: { results: Result[]; n: number }): Result[] {
  const pages = new Map<string, Result>();
  for (const result of results) {
    const key = canonicalUrl(result.url);
    if (!pages.has(key)) pages.set(key, result);
  }
  return [...pages.values()].slice(0, n);
}
