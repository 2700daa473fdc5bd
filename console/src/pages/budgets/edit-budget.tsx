import type { Budget } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { budgetsQuery } from "../../api/budgets.ts";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { changedFields } from "../../format/changed-fields.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { findErrors, toChanges, toDraft } from "./budget-draft.ts";
import { BudgetForm } from "./budget-form.tsx";

export function EditBudget({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => toDraft(budget));
  const [isSubmitted, setIsSubmitted] = useState(false);
  // Shown after the first submit, then updated while typing.
  const errors = isSubmitted ? findErrors(draft) : {};
  const changes = changedFields(toChanges(toDraft(budget)), toChanges(draft));
  const save = useMutation({
    mutationFn: () => api<Budget>(walletPath(id, `budgets/${budget.id}`), { method: "PATCH", body: changes }),
    onSuccess: async () => {
      await Promise.all([queries.invalidateQueries(budgetsQuery(id)), queries.invalidateQueries(keysQuery(id))]);
      onClose();
    },
  });
  return (
    <Dialog
      title={`Edit ${budget.name}`}
      action="Save"
      size="lg"
      onClose={onClose}
      isBusy={save.isPending}
      error={save.error}
      onSubmit={() => {
        setIsSubmitted(true);
        if (Object.keys(findErrors(draft)).length > 0) return;
        if (Object.keys(changes).length === 0) onClose();
        else save.mutate();
      }}
    >
      <BudgetForm draft={draft} errors={errors} hint={describeAmount(budget)} onChange={setDraft} isNew={false} />
    </Dialog>
  );
}

function describeAmount({ spent, period }: Budget): string {
  const applies = period === "total" ? "A change applies immediately." : "A change applies to the current period.";
  return spent === null ? applies : `${applies} ${formatMoney(spent)} is spent.`;
}
