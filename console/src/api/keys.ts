import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

export interface BudgetLine {
  limit: string;
  spent: string;
  resets_at: string | null;
}

/** The most that each end user can spend with the key. */
export interface EndUserLimit {
  amount: string;
  period: "day" | "month";
}

export type BudgetPeriod = "total" | "day" | "month";

export interface Key {
  id: string;
  mode: "live" | "test" | "mgmt";
  name: string;
  start: string;
  state: "active" | "expired" | "revoked";
  scopes: string[];
  allowed_ips: string[] | null;
  searches_per_second: number;
  searches_in_flight: number;
  budget: Record<BudgetPeriod, BudgetLine | null> | null;
  end_user_limit: EndUserLimit | null;
  expires_at: string | null;
  revoked_at: string | null;
  revoked_reason: "owner" | "operator" | "leaked" | "account_deleted" | null;
  rotated_from: string | null;
  last_used_at: string | null;
  created_at: string;
}

/** A key with its secret, which is returned only once. */
export interface NewKey extends Key {
  key: string;
}

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
    const page: { keys: Key[]; next_cursor: string | null } = await api(
      walletPath(walletId, `keys?limit=100${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`),
    );
    keys.push(...page.keys);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return keys;
}
