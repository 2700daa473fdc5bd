import type { AlertSettings, DeliveryList, WebhookList } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

export const alertsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "alerts"],
    queryFn: () => api<AlertSettings>(walletPath(walletId, "wallet/alerts")),
  });

export const endpointsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "webhooks"],
    queryFn: () => api<WebhookList>(walletPath(walletId, "webhooks")),
    select: ({ endpoints }) => endpoints,
    refetchInterval: 30_000,
  });

export const deliveriesQuery = (walletId: string, endpointId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "deliveries", endpointId],
    queryFn: ({ pageParam }) =>
      api<DeliveryList>(
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
