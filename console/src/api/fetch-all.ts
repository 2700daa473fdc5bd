import { api } from "./client.ts";

/** Fetches every page: these lists are short, and a spent budget must not be hidden on a second page. */
export async function fetchAll<Item>(path: string, name: string): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: Record<string, unknown> = await api(`${path}?limit=100${query}`);
    items.push(...(page[name] as Item[]));
    cursor = page["next_cursor"] as string | null;
  } while (cursor !== null);
  return items;
}
