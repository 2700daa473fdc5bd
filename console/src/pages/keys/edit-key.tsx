import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { type Key, keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { findErrors, toChanges, toDraft } from "./key-draft.ts";
import { KeyForm } from "./key-form.tsx";

export function ChangeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => toDraft(apiKey));
  const [hasTried, setHasTried] = useState(false);
  // Said once they have tried, and gone as soon as it is right.
  const errors = hasTried ? findErrors(draft, new Date()) : {};
  const change = useMutation({
    mutationFn: () =>
      api<Key>(walletPath(id, `keys/${apiKey.id}`), { method: "PATCH", body: onlyChanged(draft, apiKey) }),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title={`Change ${apiKey.name}`}
      action="Save"
      size="lg"
      onClose={onClose}
      isBusy={change.isPending}
      error={change.error}
      onSubmit={() => {
        setHasTried(true);
        if (Object.keys(findErrors(draft, new Date())).length > 0) return;
        if (Object.keys(onlyChanged(draft, apiKey)).length === 0) onClose();
        else change.mutate();
      }}
    >
      <KeyForm draft={draft} errors={errors} onChange={setDraft} isNew={false} />
    </Dialog>
  );
}

/** What was not touched is not sent: two people who change one key do not undo each other. */
function onlyChanged(draft: ReturnType<typeof toDraft>, apiKey: Key): Record<string, unknown> {
  const before = toChanges(toDraft(apiKey));
  return Object.fromEntries(
    Object.entries(toChanges(draft)).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  );
}
