/** One property of each item, or a tuple of several. */
export function pluck(items: readonly object[], ...names: string[]): unknown[] {
  return items.map((item) => {
    const values: unknown[] = names.map((name) => Reflect.get(item, name));
    return names.length === 1 ? values[0] : values;
  });
}
