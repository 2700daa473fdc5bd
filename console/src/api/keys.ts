import type { Key, KeyBudget } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { fetchAll } from "./fetch-all.ts";
import { walletPath } from "./wallet.ts";

export type BudgetPeriod = keyof KeyBudget;

export const keysQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "keys"],
    queryFn: () => fetchAll<Key>(walletPath(walletId, "keys"), "keys"),
    refetchInterval: 30_000,
  });
