import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

export interface TopUp {
  id: string;
  status: "pending" | "succeeded" | "failed" | "expired" | "refunded" | "disputed";
  kind: "checkout" | "automatic";
  amount: string;
  refunded: string;
  checkout_url: string | null;
  receipt_url: string | null;
  failure: string | null;
  created_at: string;
  expires_at: string | null;
  settled_at: string | null;
}

export interface AutoTopUp {
  state: "none" | "waiting_for_card" | "active" | "backing_off" | "off";
  threshold: string | null;
  amount: string | null;
  daily_cap: string | null;
  monthly_cap: string | null;
  added_this_month: string | null;
  next_attempt_at: string | null;
}

export const topUpsQuery = (walletId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "top-ups"],
    queryFn: ({ pageParam }) =>
      api<{ top_ups: TopUp[]; next_cursor: string | null }>(
        walletPath(walletId, `wallet/top-ups?${toQuery({ cursor: pageParam, limit: "20" })}`),
      ),
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
