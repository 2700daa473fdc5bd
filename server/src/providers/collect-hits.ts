import type { Hit, ParsedReply } from "./provider.ts";

export type Page = ParsedReply & { upstreamStatus?: number | undefined };
export type Pages = { ok: true; hits: Hit[] } | Extract<Page, { ok: false }>;

/** Asks for one page after another until there are `n` hits, no more to come, or `mostPages` have been asked. */
export async function collectHits(
  { n, mostPages }: { n: number; mostPages: number },
  askPage: (number: number) => Promise<Page>,
): Promise<Pages> {
  // By address, because an engine that knows no pages answers each of them with its first.
  const hits = new Map<string, Hit>();

  for (let number = 1; number <= mostPages; number += 1) {
    const page = await askPage(number);
    if (!page.ok) {
      // What the first pages found is worth more to the caller than the news that a later one failed.
      if (hits.size === 0) return page;
      break;
    }

    const known = hits.size;
    for (const hit of page.hits) if (!hits.has(hit.url)) hits.set(hit.url, hit);
    if (!page.more || hits.size === known || hits.size >= n) break;
  }

  return { ok: true, hits: [...hits.values()] };
}
