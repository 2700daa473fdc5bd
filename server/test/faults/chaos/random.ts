/** Chance that can be repeated: the same seed and name give the same draws. */
export interface Random {
  /** From 0 up to and without 1. */
  next(): number;
  integer(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
  shuffle<Item>(items: readonly Item[]): Item[];
  isLucky(share: number): boolean;
}

export function createRandom(seed: number, name: string): Random {
  let state = [...name].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), seed ^ 0x811c9dc5);

  // A counter whose bits are mixed until neighbours have nothing in common.
  function next(): number {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  const integer = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    integer,
    isLucky: (share) => next() < share,
    pick: (items) => {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    shuffle: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ item }) => item),
  };
}
