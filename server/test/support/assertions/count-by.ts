/** How many items have each label. */
export function countBy<Item>(items: readonly Item[], label: (item: Item) => string): Record<string, number> {
  const groups = Object.entries(Object.groupBy(items, label));
  return Object.fromEntries(groups.map(([name, group = []]) => [name, group.length]));
}
