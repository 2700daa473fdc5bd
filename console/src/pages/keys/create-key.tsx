import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery, type NewKey } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { useMode } from "../../frame/mode.tsx";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog, Shown } from "../../parts/dialog.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { emptyDraft, findErrors, toNewKey } from "./key-draft.ts";
import { KeyForm } from "./key-form.tsx";

/** Asks what the key may do, then shows it this once. */
export function CreateKey({ onClose }: { onClose: () => void }) {
  const { id } = useWallet();
  const { mode } = useMode();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(emptyDraft(mode));
  const [hasTried, setHasTried] = useState(false);
  // Said once they have tried, and gone as soon as it is right.
  const errors = hasTried ? findErrors(draft, new Date()) : {};
  const make = useMutation({
    mutationFn: () => api<NewKey>(walletPath(id, "keys"), { method: "POST", body: toNewKey(draft) }),
    onSuccess: () => queries.invalidateQueries(keysQuery(id)),
  });
  if (make.data) return <ShowKey made={make.data} onClose={onClose} />;
  return (
    <Dialog
      title="Create a key"
      action="Create key"
      size="lg"
      onClose={onClose}
      isBusy={make.isPending}
      error={make.error}
      onSubmit={() => {
        setHasTried(true);
        if (Object.keys(findErrors(draft, new Date())).length === 0) make.mutate();
      }}
    >
      <KeyForm draft={draft} errors={errors} onChange={setDraft} isNew />
    </Dialog>
  );
}

function ShowKey({ made, onClose }: { made: NewKey; onClose: () => void }) {
  return (
    <Shown title={`${made.name} is ready`} action="I have kept it" onClose={onClose}>
      <Text size="sm">This is the only time that the key is shown.</Text>
      <SecretOnce secret={made.key} label="the key">
        <KeepIt mode={made.mode} />
      </SecretOnce>
    </Shown>
  );
}

/** Where a key belongs. */
export function KeepIt({ mode }: { mode: NewKey["mode"] }) {
  if (mode === "test")
    return "It spends nothing. Put it in your environment as PENNYBLACK_API_KEY, as you would a live one.";
  return "Keep it in your secret manager, or as PENNYBLACK_API_KEY in the environment of your server. Never in a repository, a browser or a chat: whoever has it spends your money.";
}
