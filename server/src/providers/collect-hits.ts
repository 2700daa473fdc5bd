import type { Hit, ParsedReply } from "./provider.ts";

export type Page = ParsedReply & { upstreamStatus?: number | undefined };
export type Pages = { ok: true; hits: Hit[] } | Extract<Page, { ok: false }>;

/** Fetches pages until there are `n` hits, there are no more, or `maxPages` is reached. */
export async function collectHits(
  { n, maxPages }: { n: number; maxPages: number },
  fetchPage: (number: number) => Promise<Page>,
): Promise<Pages> {
  // Keyed by URL, because an engine without paging returns its first page every time.
  const hits = new Map<string, Hit>();

  for (let number = 1; number <= maxPages; number += 1) {
    const page = await fetchPage(number);
    if (!page.ok) {
      // Hits from earlier pages are worth more to the caller than the failure of a later one.
      if (hits.size === 0) return page;
      break;
    }

    const known = hits.size;
    for (const hit of page.hits) if (!hits.has(hit.url)) hits.set(hit.url, hit);
    if (!page.more || hits.size === known || hits.size >= n) break;
  }

  return { ok: true, hits: [...hits.values()] };
}
