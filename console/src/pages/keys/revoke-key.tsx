import { Text, TextInput } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";

/** Revoking cannot be undone, so the user has to type the name. */
export function RevokeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const revoke = useMutation({
    mutationFn: () => api<Key>(walletPath(id, `keys/${apiKey.id}`), { method: "DELETE" }),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title={`Revoke ${apiKey.name}`}
      action="Revoke key"
      isDangerous
      isReady={typed.trim() === apiKey.name.trim()}
      onClose={onClose}
      isBusy={revoke.isPending}
      error={revoke.error}
      onSubmit={() => revoke.mutate()}
    >
      <Text size="sm">
        Requests with <span className="mono">{apiKey.start}…</span> are rejected immediately. This cannot be undone.
        Searches in progress still finish. To replace the key without downtime, rotate it instead.
      </Text>
      <TextInput
        label={`Type ${apiKey.name} to confirm`}
        value={typed}
        autoComplete="off"
        data-autofocus
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </Dialog>
  );
}
