import { Text } from "@mantine/core";
import type { CreatedKey, KeyMode } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog, ResultDialog } from "../../components/dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { emptyDraft, findErrors, toNewKey } from "./key-draft.ts";
import { KeyForm } from "./key-form.tsx";

export function CreateKey({ onClose }: { onClose: () => void }) {
  const { id } = useWallet();
  const { mode } = useMode();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(emptyDraft(mode));
  const [isSubmitted, setIsSubmitted] = useState(false);
  // Shown after the first submit, then updated while typing.
  const errors = isSubmitted ? findErrors(draft, new Date()) : {};
  const create = useMutation({
    mutationFn: () => api<CreatedKey>(walletPath(id, "keys"), { method: "POST", body: toNewKey(draft) }),
    onSuccess: () => queries.invalidateQueries(keysQuery(id)),
  });
  if (create.data) return <NewKeyDialog created={create.data} onClose={onClose} />;
  return (
    <Dialog
      title="Create key"
      action="Create key"
      size="lg"
      onClose={onClose}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={() => {
        setIsSubmitted(true);
        if (Object.keys(findErrors(draft, new Date())).length === 0) create.mutate();
      }}
    >
      <KeyForm draft={draft} errors={errors} onChange={setDraft} isNew />
    </Dialog>
  );
}

function NewKeyDialog({ created, onClose }: { created: CreatedKey; onClose: () => void }) {
  return (
    <ResultDialog title={`${created.name} created`} action="I've saved it" onClose={onClose}>
      <Text size="sm">This key is shown only once.</Text>
      <OneTimeSecret secret={created.key} label="key">
        <StorageAdvice mode={created.mode} />
      </OneTimeSecret>
    </ResultDialog>
  );
}

export function StorageAdvice({ mode }: { mode: KeyMode }) {
  if (mode === "test")
    return "Test keys are free. Set it as PENNYBLACK_API_KEY in your environment, as you would a live key.";
  return "Store it in a secret manager, or as PENNYBLACK_API_KEY in the environment of your server. Never put it in a repository, a browser or a chat: anyone who has it can spend your balance.";
}
