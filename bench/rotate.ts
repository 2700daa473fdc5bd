/** Rotates the order by round, so that no item always runs after the same predecessor. */
export function rotate<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
