import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { budgetRequestsQuery, type Decision, type IncreaseRequest } from "../../api/budget-requests.ts";
import { useSession } from "../../api/session.ts";
import { Notice } from "../../components/notice.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./budgets.module.css";
import { type Choice, DecideRequest } from "./decide-request.tsx";

const columns: Column[] = [{ name: "Budget" }, { name: "Key" }, { name: "Requested" }, { name: "Received" }];

/** The open requests of keys for more of a budget, in the mode that the page shows. */
export function useOpenRequests(): IncreaseRequest[] {
  const { id } = useWallet();
  const { mode } = useMode();
  // Operators have no session that could decide.
  const isOperator = useSession().operator !== undefined;
  const { data } = useQuery({ ...budgetRequestsQuery(id), enabled: !isOperator });
  return (data?.requests ?? []).filter((each) => each.state === "open" && each.mode === mode);
}

/** Nothing is shown while there are no requests. */
export function RequestList({ requests }: { requests: readonly IncreaseRequest[] }) {
  const { canEdit } = useWallet();
  const [open, setOpen] = useState<{ request: IncreaseRequest; choice: Choice }>();
  const [decided, setDecided] = useState<Decision & { request: IncreaseRequest }>();
  if (requests.length === 0 && !decided) return undefined;
  return (
    <Section title="Requests" description="Keys whose budget is spent ask for more. Each request is open for 7 days.">
      {decided && <DecisionNotice {...decided} />}
      {requests.length > 0 && (
        <Table label="Requests" columns={canEdit ? [...columns, { name: "Actions", isHeaderHidden: true }] : columns}>
          {requests.map((request) => (
            <RequestRow key={request.id} request={request} onChoose={(choice) => setOpen({ request, choice })} />
          ))}
        </Table>
      )}
      {open && (
        <DecideRequest
          {...open}
          onClose={() => setOpen(undefined)}
          onDecided={(decision) => {
            setOpen(undefined);
            setDecided(open.choice === "approve" ? { ...decision, request: open.request } : undefined);
          }}
        />
      )}
    </Section>
  );
}

function RequestRow({ request, onChoose }: { request: IncreaseRequest; onChoose: (choice: Choice) => void }) {
  const { canEdit } = useWallet();
  const { budget, key, amount, hours, created_at: createdAt } = request;
  return (
    <Row>
      <RowHeader>
        <span className={classes.wrapped}>{budget.name}</span>
        <Text size="xs" c="dimmed" fw={400}>
          {formatMoney(budget.spent)} of {formatMoney(budget.amount)} spent
        </Text>
      </RowHeader>
      <Cell label="Key">
        <span className={classes.wrapped}>{key.name}</span>
      </Cell>
      <Cell label="Requested">
        {formatMoney(amount)} more for {formatCount(hours, "hour")}
      </Cell>
      <Cell label="Received">
        <RelativeTime at={createdAt} />
      </Cell>
      {canEdit && (
        <ActionsCell isWide>
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <Button
              variant="subtle"
              color="ink"
              size="compact-sm"
              aria-label={`Deny ${formatMoney(amount)} for ${budget.name}`}
              onClick={() => onChoose("deny")}
            >
              Deny
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Approve ${formatMoney(amount)} for ${budget.name}`}
              onClick={() => onChoose("approve")}
            >
              Approve
            </Button>
          </Group>
        </ActionsCell>
      )}
    </Row>
  );
}

function DecisionNotice({ request, increase, replaced }: Decision & { request: IncreaseRequest }) {
  if (!increase) return undefined;
  return (
    <Notice tone="success" title={`${request.budget.name} has ${formatMoney(increase.amount)} more`}>
      <Text size="sm">
        It ends <RelativeTime at={increase.ends_at} />.
        {replaced && (
          <>
            {" "}
            It replaced {formatMoney(replaced.amount)} more that would have ended <RelativeTime at={replaced.ends_at} />
            .
          </>
        )}
      </Text>
    </Notice>
  );
}
