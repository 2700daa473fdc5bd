import type { Page, Pages } from "@pennyblack/sdk";

const maxPageSize = 100;

/** Returns the first `count` items of a list as one page. Fetches no more pages than needed. */
export async function takeItems<Item, Details>(
  list: (limit: number) => Pages<Item, Details>,
  count: number,
): Promise<Page<Item, Details>> {
  const pages = list(Math.min(count, maxPageSize));
  const first = await pages.page();
  const items = [...first.items];
  let { nextCursor } = first;
  while (items.length < count && nextCursor !== null) {
    const page = await pages.page(nextCursor);
    items.push(...page.items);
    nextCursor = page.nextCursor;
  }
  return { ...first, items: items.slice(0, count), nextCursor };
}
