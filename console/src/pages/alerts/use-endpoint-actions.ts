import type { Delivery, Webhook } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { deliveriesQuery, endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../layout/use-wallet.ts";

export function useEndpointActions(endpoint: Webhook, onTest: () => void) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const sendTest = useMutation({
    mutationFn: () => api<Delivery>(walletPath(id, `webhooks/${endpoint.id}/test`), { method: "POST" }),
    onSuccess: async () => {
      onTest();
      await queries.invalidateQueries({ queryKey: deliveriesQuery(id, endpoint.id).queryKey });
    },
  });
  const toggle = useMutation({
    mutationFn: () =>
      api<Webhook>(walletPath(id, `webhooks/${endpoint.id}`), {
        method: "PATCH",
        body: { enabled: !endpoint.enabled },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: endpointsQuery(id).queryKey }),
  });
  return { sendTest, toggle };
}
