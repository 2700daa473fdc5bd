/** Each comes first in turn, so that nobody always meets what his neighbour left behind. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
