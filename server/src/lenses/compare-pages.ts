import { explainRanking, type Lens, type Reason } from "../ranking/ranking.ts";

/** A page of results as an upstream gave it, in its order. */
export interface SavedPage {
  query: string;
  category?: string | undefined;
  results: { url: string; title?: string; snippet?: string }[];
}

export interface Placed extends Reason {
  url: string;
}

/** Where each result of a saved page stands under a lens, and why. */
export function explainPage(page: SavedPage, lenses: ReadonlyMap<string, Lens>): Placed[] {
  const lens = lenses.get(page.category ?? "base") ?? lenses.get("base");
  if (!lens) throw new Error("there is no lens named base");
  const results = page.results.map(({ url, title = "", snippet = "" }) => ({ url, title, snippet }));
  const reasons = explainRanking({ results, query: page.query, lens, n: results.length });
  return reasons.map((reason) => ({ ...reason, url: results[reason.upstreamRank - 1]?.url ?? "" }));
}

export interface Move {
  url: string;
  before: Placed;
  after: Placed;
}

/** What another set of lenses moves on a page, in its new order. */
export function comparePage(
  page: SavedPage,
  before: ReadonlyMap<string, Lens>,
  after: ReadonlyMap<string, Lens>,
): Move[] {
  const placesBefore = new Map(explainPage(page, before).map((placed) => [placed.url, placed]));
  return explainPage(page, after).flatMap((placed) => {
    const was = placesBefore.get(placed.url);
    return was && was.place !== placed.place ? [{ url: placed.url, before: was, after: placed }] : [];
  });
}
