import { Text } from "@mantine/core";
import type { Webhook } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";

export function DeleteEndpoint({ endpoint, onClose }: { endpoint: Webhook; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(walletPath(id, `webhooks/${endpoint.id}`), { method: "DELETE" }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: endpointsQuery(id).queryKey });
      onClose();
    },
  });
  return (
    <Dialog
      title="Delete endpoint"
      action="Delete endpoint"
      isDangerous
      onClose={onClose}
      isBusy={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
    >
      <Text size="sm">
        No more events will be sent to <span className="mono">{endpoint.url}</span>, and its delivery log will be
        deleted. To pause deliveries, disable the endpoint instead.
      </Text>
    </Dialog>
  );
}
