import type { Key, KeyBudget, KeyList } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

export type BudgetPeriod = keyof KeyBudget;

export const keysQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "keys"],
    queryFn: () => fetchAllKeys(walletId),
    refetchInterval: 30_000,
  });

/** Fetches every page: wallets have few keys, and a spent budget must not be hidden on a second page. */
async function fetchAllKeys(walletId: string): Promise<Key[]> {
  const keys: Key[] = [];
  let cursor: string | null = null;
  do {
    const page: KeyList = await api(
      walletPath(walletId, `keys?limit=100${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`),
    );
    keys.push(...page.keys);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return keys;
}
