import { type CanonicalPage, canonicalPage } from "./canonical-url.ts";

export interface Page<Result> extends CanonicalPage {
  result: Result;
  /** Counted from 1. With two upstreams, the rank after fusion. */
  upstreamRank: number;
  /** The rank at each of two upstreams. Undefined with one. */
  fused?: FusedRanks | undefined;
}

/** Undefined at the upstream that did not list the page. */
export interface FusedRanks {
  first: number | undefined;
  second: number | undefined;
}

/** Distinct pages in the upstream's order. Of equivalent URLs, the first is kept. */
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
