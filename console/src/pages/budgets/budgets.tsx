import { Button } from "@mantine/core";
import type { Budget, Key } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { budgetsQuery } from "../../api/budgets.ts";
import { keysQuery } from "../../api/keys.ts";
import { type Mode, walletQuery } from "../../api/wallet.ts";
import { Page, Section } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { useMode } from "../../layout/mode.tsx";
import { OtherMode } from "../../layout/other-mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { ArchiveBudget } from "./archive-budget.tsx";
import { type BudgetAction, BudgetTable } from "./budget-table.tsx";
import { CreateBudget } from "./create-budget.tsx";
import { EditBudget } from "./edit-budget.tsx";
import { RequestList, useOpenRequests } from "./request-list.tsx";

const route = getRouteApi("/signed-in/w/$walletId/budgets");

export function Budgets() {
  const { id, canEdit } = useWallet();
  // In the URL, so that the command palette can open it.
  const isCreating = route.useSearch().dialog === "create";
  const navigate = route.useNavigate();
  const create = (): Promise<void> => navigate({ search: { dialog: "create" }, replace: true });
  const requests = useOpenRequests();
  const budgets = useQuery(budgetsQuery(id));
  const keys = useQuery(keysQuery(id));
  return (
    <Page
      title="Budgets"
      description={
        canEdit
          ? "Limits that several keys share. A search must fit into every budget of its key."
          : "You have view-only access. An owner or developer can manage budgets."
      }
      actions={canEdit && <Button onClick={create}>Create budget</Button>}
    >
      <RequestList requests={requests} />
      <QueryState query={budgets} title="Couldn't load budgets." rows={6} />
      {budgets.data && <QueryState query={keys} title="Couldn't load the keys of your budgets." rows={6} />}
      {budgets.data && keys.data && (
        <Section title="Shared budgets">
          <BudgetLists budgets={budgets.data} keys={keys.data} onCreate={create} />
        </Section>
      )}
      {canEdit && isCreating && <CreateBudget onClose={() => navigate({ search: {}, replace: true })} />}
    </Page>
  );
}

function BudgetLists({ budgets, keys, onCreate }: { budgets: Budget[]; keys: Key[]; onCreate: () => void }) {
  const { id } = useWallet();
  const { mode } = useMode();
  const price = useQuery(walletQuery(id)).data?.price ?? "0.01";
  const [open, setOpen] = useState<BudgetAction>();
  const close = (): void => setOpen(undefined);
  // An expired key still names its budgets: its expiry can be changed.
  const keysOf = (budget: Budget): Key[] =>
    keys.filter((key) => key.state !== "revoked" && key.budgets.some((named) => named.id === budget.id));
  const inMode = budgets.filter((budget) => budget.mode === mode);
  const other = mode === "live" ? "test" : "live";
  return (
    <>
      {inMode.length === 0 ? (
        <NoBudgets mode={mode} onCreate={onCreate} />
      ) : (
        <BudgetTable budgets={inMode} keysOf={keysOf} price={price} onAction={setOpen} />
      )}
      <OtherMode noun="budget" mode={other} count={budgets.length - inMode.length} />
      {open?.action === "change" && <EditBudget budget={open.budget} onClose={close} />}
      {open?.action === "archive" && <ArchiveBudget {...open} keys={keysOf(open.budget)} onClose={close} />}
    </>
  );
}

function NoBudgets({ mode, onCreate }: { mode: Mode; onCreate: () => void }) {
  const { canEdit } = useWallet();
  return (
    <EmptyState
      title={mode === "live" ? "No shared budgets" : "No shared test budgets"}
      action={
        canEdit && (
          <Button variant="default" onClick={onCreate}>
            Create {mode === "test" && "test "}budget
          </Button>
        )
      }
    >
      {mode === "live"
        ? "Create a budget for a team, a project or each of your end users, then choose it in the settings of its keys. A limit for a single key is part of that key."
        : "A budget of test keys counts play money. Use it to see what happens when a budget is spent."}
    </EmptyState>
  );
}
