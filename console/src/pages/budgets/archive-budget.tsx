import { List, Text } from "@mantine/core";
import type { Budget, BudgetInUseProblem, Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { budgetsQuery } from "../../api/budgets.ts";
import { ApiProblem, api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./budgets.module.css";

type KeyName = Pick<Key, "id" | "name">;

/** A budget that a key names cannot be archived: the page knows most of these keys, and the server names the rest. */
export function ArchiveBudget(props: { budget: Budget; keys: readonly KeyName[]; onClose: () => void }) {
  const { budget, keys, onClose } = props;
  const { id } = useWallet();
  const queries = useQueryClient();
  const archive = useMutation({
    mutationFn: () => api<Budget>(walletPath(id, `budgets/${budget.id}`), { method: "DELETE" }),
    onSuccess: async () => {
      await queries.invalidateQueries(budgetsQuery(id));
      onClose();
    },
  });
  const refusedFor = readKeys(archive.error);
  const inUse = refusedFor ?? keys;
  return (
    <Dialog
      title={`Archive ${budget.name}`}
      action="Archive budget"
      isDangerous
      isReady={inUse.length === 0}
      onClose={onClose}
      isBusy={archive.isPending}
      error={refusedFor ? undefined : archive.error}
      onSubmit={() => archive.mutate()}
    >
      {inUse.length === 0 ? (
        <Text size="sm">The budget is removed from this list. No key names it. This cannot be undone.</Text>
      ) : (
        <div role="alert">
          <Text size="sm">
            {budget.name} limits the following keys, so it cannot be archived. Edit each key and remove the budget, or
            revoke the key. An expired key counts until it is revoked.
          </Text>
          <List size="sm" mt="sm" className={classes.keys ?? ""}>
            {inUse.map((key) => (
              <List.Item key={key.id}>{key.name}</List.Item>
            ))}
          </List>
        </div>
      )}
    </Dialog>
  );
}

/** The keys of a 409. */
function readKeys(error: unknown): readonly KeyName[] | undefined {
  if (!(error instanceof ApiProblem) || error.code !== "budget_in_use") return undefined;
  return error.members["keys"] as BudgetInUseProblem["keys"];
}
