import { type CanonicalPage, canonicalPage } from "./canonical-url.ts";

export interface Page<Result> extends CanonicalPage {
  result: Result;
  /** The upstream's, counted from 1. */
  upstreamRank: number;
}

/** Different pages in the upstream's order. Of several spellings of one page, the first is shown. */
export function mergeDuplicates<Result extends { url: string }>(results: readonly Result[]): Page<Result>[] {
  const pages: Page<Result>[] = [];
  const seen = new Set<string>();
  for (const [index, result] of results.entries()) {
    const { key, host, path } = canonicalPage(result.url);
    if (seen.has(key)) continue;
    seen.add(key);
    pages.push({ result, key, host, path, upstreamRank: index + 1 });
  }
  return pages;
}
