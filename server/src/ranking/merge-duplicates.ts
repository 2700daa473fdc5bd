import { type CanonicalPage, canonicalPage } from "./canonical-url.ts";

export interface Page<Result> extends CanonicalPage {
  result: Result;
  /** Counted from 1. */
  upstreamRank: number;
}

/** Distinct pages in the upstream's order. The first of several equivalent URLs is kept. */
export function mergeDuplicates<Result extends { url: string }>(results: readonly Result[]): Page<Result>[] {
  const pages: Page<Result>[] = [];
  const seen = new Set<string>();
  for (const [index, result] of results.entries()) {
    const { key, host, path } = canonicalPage(result.url);
    const before = seen.size;
    seen.add(key);
    if (seen.size === before) continue;
    pages.push({ result, key, host, path, upstreamRank: index + 1 });
  }
  return pages;
}
