import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type Endpoint, endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";

export function DeleteEndpoint({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
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
      title="Delete the endpoint"
      action="Delete endpoint"
      isDangerous
      onClose={onClose}
      isBusy={remove.isPending}
      error={remove.error}
      onSubmit={() => remove.mutate()}
    >
      <Text size="sm">
        Nothing more is sent to <span className="mono">{endpoint.url}</span>, and the log of its deliveries goes with
        it. To stop for a while, switch it off instead.
      </Text>
    </Dialog>
  );
}
