import type { QueryLimit } from "../providers/provider.ts";

export function carries({ characters, words }: QueryLimit, query: string): boolean {
  const fits = query.length <= characters || [...query].length <= characters;
  return fits && (words === undefined || query.split(/\s+/).length <= words);
}

/** The limit to tell when none carries a query: the one with the most characters, its words only if they are too many. */
export function widest(limits: readonly QueryLimit[], query: string): QueryLimit {
  const [most, ...others] = limits;
  if (!most) return { characters: 0 };
  const { characters, words } = others.reduce((a, b) => (b.characters > a.characters ? b : a), most);
  return words !== undefined && carries({ characters }, query) ? { characters, words } : { characters };
}
