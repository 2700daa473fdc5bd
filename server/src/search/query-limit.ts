import type { QueryLimit } from "../providers/provider.ts";

export function accepts({ characters, words }: QueryLimit, query: string): boolean {
  const fits = query.length <= characters || [...query].length <= characters;
  return fits && (words === undefined || countWords(query) <= words);
}

export function countWords(query: string): number {
  return query.split(/\s+/).length;
}

/** The limit to report when none accepts a query: the one with the most characters, with its words only if exceeded. */
export function widest(limits: readonly QueryLimit[], query: string): QueryLimit {
  const [first, ...others] = limits;
  if (!first) return { characters: 0 };
  const { characters, words } = others.reduce((a, b) => (b.characters > a.characters ? b : a), first);
  return words !== undefined && accepts({ characters }, query) ? { characters, words } : { characters };
}
