import type { AutoTopUp, TopUp, TopUpList } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

export const topUpsQuery = (walletId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "top-ups"],
    queryFn: ({ pageParam }) =>
      api<TopUpList>(walletPath(walletId, `wallet/top-ups?${toQuery({ cursor: pageParam, limit: "20" })}`)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

/** Polls until the payment succeeds, fails or expires. */
export const topUpQuery = (walletId: string, id: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "top-up", id],
    queryFn: () => api<TopUp>(walletPath(walletId, `wallet/top-ups/${encodeURIComponent(id)}`)),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.status === "pending" ? 2_000 : false),
  });

export const autoTopUpQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "auto-top-up"],
    queryFn: () => api<AutoTopUp>(walletPath(walletId, "wallet/auto-top-up")),
  });
