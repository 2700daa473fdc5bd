import { Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import type { AppWithKey } from "./app-table.tsx";

export function DisconnectApp({ app, onClose }: { app: AppWithKey; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const disconnect = useMutation({
    mutationFn: () => api<Key>(walletPath(id, `keys/${app.key_id}`), { method: "DELETE" }),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title={`Disconnect ${app.key.name}`}
      action="Disconnect"
      isDangerous
      onClose={onClose}
      isBusy={disconnect.isPending}
      error={disconnect.error}
      onSubmit={() => disconnect.mutate()}
    >
      <Text size="sm">
        Its requests are rejected immediately, even if you sign in to it again. Searches in progress still finish. You
        can allow it again later.
      </Text>
    </Dialog>
  );
}
