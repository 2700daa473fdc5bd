import type { Budget } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { budgetsQuery } from "../../api/budgets.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { emptyDraft, findErrors, toNewBudget } from "./budget-draft.ts";
import { BudgetForm } from "./budget-form.tsx";

export function CreateBudget({ onClose }: { onClose: () => void }) {
  const { id } = useWallet();
  const { mode } = useMode();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(emptyDraft);
  const [isSubmitted, setIsSubmitted] = useState(false);
  // Shown after the first submit, then updated while typing.
  const errors = isSubmitted ? findErrors(draft) : {};
  const create = useMutation({
    mutationFn: () => api<Budget>(walletPath(id, "budgets"), { method: "POST", body: toNewBudget(draft, mode) }),
    onSuccess: async () => {
      await queries.invalidateQueries(budgetsQuery(id));
      onClose();
    },
  });
  return (
    <Dialog
      title={mode === "live" ? "Create budget" : "Create test budget"}
      action="Create budget"
      size="lg"
      onClose={onClose}
      isBusy={create.isPending}
      error={create.error}
      onSubmit={() => {
        setIsSubmitted(true);
        if (Object.keys(findErrors(draft)).length === 0) create.mutate();
      }}
    >
      <BudgetForm draft={draft} errors={errors} onChange={setDraft} isNew />
    </Dialog>
  );
}
