import { explainRanking, type Lens, type Reason } from "../ranking/ranking.ts";

/** A page of results in the upstream's order. */
export interface SavedPage {
  query: string;
  category?: string | undefined;
  results: { url: string; title?: string; snippet?: string }[];
}

export interface RankedResult extends Reason {
  url: string;
}

/** Ranks a saved page and explains each position. */
export function explainPage(page: SavedPage, lenses: ReadonlyMap<string, Lens>): RankedResult[] {
  const lens = lenses.get(page.category ?? "base") ?? lenses.get("base");
  if (!lens) throw new Error("there is no lens named base");
  const results = page.results.map(({ url, title = "", snippet = "" }) => ({ url, title, snippet }));
  const reasons = explainRanking({ results, query: page.query, lens, n: results.length });
  return reasons.map((reason) => ({ ...reason, url: results[reason.upstreamRank - 1]?.url ?? "" }));
}

export interface Move {
  url: string;
  before: RankedResult;
  after: RankedResult;
}

/** Results of a page that move under another set of lenses, in the new order. */
export function comparePage(
  page: SavedPage,
  before: ReadonlyMap<string, Lens>,
  after: ReadonlyMap<string, Lens>,
): Move[] {
  const rankedBefore = new Map(explainPage(page, before).map((result) => [result.url, result]));
  return explainPage(page, after).flatMap((result) => {
    const was = rankedBefore.get(result.url);
    return was && was.position !== result.position ? [{ url: result.url, before: was, after: result }] : [];
  });
}
