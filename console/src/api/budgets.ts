import type { Budget } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { fetchAll } from "./fetch-all.ts";
import { walletPath } from "./wallet.ts";

/** The wallet's shared budgets, in both modes. */
export const budgetsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "budgets"],
    queryFn: () => fetchAll<Budget>(walletPath(walletId, "budgets"), "budgets"),
    refetchInterval: 30_000,
  });
