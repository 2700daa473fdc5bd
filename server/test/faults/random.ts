/** A seeded random generator: the same seed and name give the same sequence. */
export interface Random {
  /** At least 0 and below 1. */
  next(): number;
  integer(min: number, max: number): number;
  pick<Item>(items: readonly Item[]): Item;
  shuffle<Item>(items: readonly Item[]): Item[];
  isLucky(share: number): boolean;
}

export function createRandom(seed: number, name: string): Random {
  let state = [...name].reduce(
    (sum, character) => Math.imul(sum ^ character.charCodeAt(0), 0x01000193),
    seed ^ 0x811c9dc5,
  );

  // A counter whose bits are mixed, so that consecutive values are unrelated.
  function next(): number {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    isLucky: (share) => next() < share,
    pick: (items) => {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new Error("cannot pick from an empty list");
      return item;
    },
    shuffle: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ item }) => item),
  };
}
