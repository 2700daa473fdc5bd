import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type Endpoint, endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { ShowSecret } from "./show-secret.tsx";

export function RotateSecret({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const rotate = useMutation({
    mutationFn: () =>
      api<{ secret: string; previous_secret_until: string }>(walletPath(id, `webhooks/${endpoint.id}/rotate-secret`), {
        method: "POST",
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: endpointsQuery(id).queryKey }),
  });
  if (rotate.data) {
    return <ShowSecret secret={rotate.data.secret} oldUntil={rotate.data.previous_secret_until} onClose={onClose} />;
  }
  return (
    <Dialog
      title="Replace the signing secret"
      action="Replace secret"
      onClose={onClose}
      isBusy={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <Text size="sm">
        You get a new secret. For 24 hours both sign each event, so that your receiver can change over; the one before
        that ends now.
      </Text>
    </Dialog>
  );
}
