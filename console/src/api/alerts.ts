import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

export interface AlertSettings {
  email: string | null;
  low_balance: string | null;
}

export const eventTypes = [
  "wallet.low_balance",
  "wallet.depleted",
  "top_up.succeeded",
  "top_up.failed",
  "key.created",
  "key.rotated",
  "key.revoked",
  "key.budget_spent",
] as const;
export type EventType = (typeof eventTypes)[number];

export interface Endpoint {
  id: string;
  url: string;
  description: string;
  events: EventType[];
  enabled: boolean;
  disabled_reason: "owner" | "gone" | "failing" | null;
  failing_since: string | null;
  previous_secret_until: string | null;
  created_at: string;
}

export interface Delivery {
  id: string;
  event: { id: string; type: string; created_at: string };
  status: "pending" | "delivered" | "failed";
  attempts: number;
  response_status: number | null;
  error: string | null;
  last_attempt_at: string | null;
  next_attempt_at: string | null;
  created_at: string;
}

export const alertsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "alerts"],
    queryFn: () => api<AlertSettings>(walletPath(walletId, "wallet/alerts")),
  });

export const endpointsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "webhooks"],
    queryFn: () => api<{ endpoints: Endpoint[] }>(walletPath(walletId, "webhooks")),
    select: ({ endpoints }) => endpoints,
    refetchInterval: 30_000,
  });

export const deliveriesQuery = (walletId: string, endpointId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "deliveries", endpointId],
    queryFn: ({ pageParam }) =>
      api<{ deliveries: Delivery[]; next_cursor: string | null }>(
        walletPath(walletId, `webhooks/${endpointId}/deliveries?${toQuery({ cursor: pageParam, limit: "20" })}`),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: ({ state }) => {
      const isWaiting = state.data?.pages.some(({ deliveries }) =>
        deliveries.some(({ status }) => status === "pending"),
      );
      return isWaiting ? 2_000 : 30_000;
    },
  });
