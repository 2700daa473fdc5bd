import { TextInput } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { parseAmount } from "../../format/amounts.ts";
import { useWallet } from "../../layout/use-wallet.ts";

export function EditApp({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [name, setName] = useState(apiKey.name);
  const [day, setDay] = useState(apiKey.budget?.day?.limit ?? "");
  const [isSubmitted, setIsSubmitted] = useState(false);
  const amount = parseAmount(day);
  const save = useMutation({
    mutationFn: () =>
      api<Key>(walletPath(id, `keys/${apiKey.id}`), {
        method: "PATCH",
        body: { name: name.trim(), budget: { day: amount } },
      }),
    onSuccess: async () => {
      await queries.invalidateQueries(keysQuery(id));
      onClose();
    },
  });
  const nameError = name.trim() === "" ? "Enter a name." : undefined;
  const dayError = amount === undefined ? "Enter an amount such as 1 or 0.50." : undefined;
  return (
    <Dialog
      title={`Edit ${apiKey.name}`}
      action="Save"
      onClose={onClose}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => {
        setIsSubmitted(true);
        if (nameError === undefined && dayError === undefined) save.mutate();
      }}
    >
      <TextInput
        label="Name"
        value={name}
        maxLength={100}
        error={isSubmitted && nameError}
        data-autofocus
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <AmountInput
        label="Daily budget"
        description="All apps of this person share it. Resets at midnight UTC."
        value={day}
        error={isSubmitted && dayError}
        onChange={setDay}
      />
    </Dialog>
  );
}
