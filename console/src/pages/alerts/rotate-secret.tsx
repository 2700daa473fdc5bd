import { Text } from "@mantine/core";
import type { Webhook } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { endpointsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { SigningSecretDialog } from "./signing-secret-dialog.tsx";

export function RotateSecret({ endpoint, onClose }: { endpoint: Webhook; onClose: () => void }) {
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
    return (
      <SigningSecretDialog
        secret={rotate.data.secret}
        previousUntil={rotate.data.previous_secret_until}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog
      title="Rotate signing secret"
      action="Rotate secret"
      onClose={onClose}
      isBusy={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
    >
      <Text size="sm">
        You get a new secret. For 24 hours, events are signed with both the old and the new one, so that you can update
        your receiver. Any earlier secret expires now.
      </Text>
    </Dialog>
  );
}
