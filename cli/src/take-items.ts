import type { Pages } from "@pennyblack/sdk";

const maxPageSize = 100;

/** Returns the first `count` items of a list. Fetches no more pages than needed. */
export async function takeItems<Item>(list: (limit: number) => Pages<Item>, count: number): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of list(Math.min(count, maxPageSize)).pages()) {
    items.push(...page.items);
    if (items.length >= count) break;
  }
  return items.slice(0, count);
}
