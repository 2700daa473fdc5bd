import type { Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { changedFields } from "../../format/changed-fields.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { findErrors, toChanges, toDraft } from "./key-draft.ts";
import { KeyForm } from "./key-form.tsx";

export function EditKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => toDraft(apiKey));
  const [isSubmitted, setIsSubmitted] = useState(false);
  // Shown after the first submit, then updated while typing.
  const errors = isSubmitted ? findErrors(draft, new Date()) : {};
  const changes = changedFields(toChanges(toDraft(apiKey)), toChanges(draft));
  const save = useMutation({
    mutationFn: () => api<Key>(walletPath(id, `keys/${apiKey.id}`), { method: "PATCH", body: changes }),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title={`Edit ${apiKey.name}`}
      action="Save"
      size="lg"
      onClose={onClose}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => {
        setIsSubmitted(true);
        if (Object.keys(findErrors(draft, new Date())).length > 0) return;
        if (Object.keys(changes).length === 0) onClose();
        else save.mutate();
      }}
    >
      <KeyForm draft={draft} errors={errors} onChange={setDraft} isNew={false} />
    </Dialog>
  );
}
