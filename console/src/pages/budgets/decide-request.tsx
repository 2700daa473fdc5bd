import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { budgetRequestsQuery, type Decision, type IncreaseRequest } from "../../api/budget-requests.ts";
import { budgetsQuery } from "../../api/budgets.ts";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { walletPath } from "../../api/wallet.ts";
import { Dialog } from "../../components/dialog.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { addMoney, formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";

export type Choice = "approve" | "deny";

interface Props {
  request: IncreaseRequest;
  choice: Choice;
  onClose: () => void;
  onDecided: (decision: Decision) => void;
}

/** Approving requires a recent sign-in, which `api` asks for. */
export function DecideRequest({ request, choice, onClose, onDecided }: Props) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const decide = useMutation({
    mutationFn: () =>
      api<Decision>(walletPath(id, `budget-requests/${request.id}/${choice}`), { method: "POST", body: {} }),
    onSuccess: async (decision) => {
      await Promise.all([
        queries.invalidateQueries(budgetRequestsQuery(id)),
        queries.invalidateQueries(budgetsQuery(id)),
        queries.invalidateQueries(keysQuery(id)),
      ]);
      onDecided(decision);
    },
  });
  const isApproval = choice === "approve";
  return (
    <Dialog
      title={isApproval ? `Raise ${request.budget.name}` : "Deny the request"}
      action={isApproval ? "Approve" : "Deny"}
      isDangerous={!isApproval}
      onClose={onClose}
      isBusy={decide.isPending}
      error={decide.error}
      onSubmit={() => decide.mutate()}
    >
      {isApproval ? <Approval request={request} /> : <Denial request={request} />}
    </Dialog>
  );
}

function Approval({ request: { budget, key, amount, hours } }: Pick<Props, "request">) {
  const unit = budget.period === "total" ? "in total" : `per ${budget.period}`;
  return (
    <>
      <Text size="sm">
        The key {key.name} asks for {formatMoney(amount)} more. For {formatCount(hours, "hour")}, the limit of{" "}
        {budget.name} is{" "}
        <strong>
          {formatMoney(addMoney([budget.amount, amount]))} {unit}
        </strong>{" "}
        instead of {formatMoney(budget.amount)}, for all of its keys. Then the raise ends without further action.
      </Text>
      {budget.increase && (
        <Text size="sm">
          This replaces the raise of {formatMoney(budget.increase.amount)} that ends{" "}
          <RelativeTime at={budget.increase.ends_at} />.
        </Text>
      )}
    </>
  );
}

function Denial({ request: { budget, key, amount } }: Pick<Props, "request">) {
  return (
    <Text size="sm">
      The key {key.name} asks for {formatMoney(amount)} more of {budget.name}. The budget does not change. The key can
      ask again.
    </Text>
  );
}
