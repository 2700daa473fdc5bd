import { ActionIcon, Menu, Text } from "@mantine/core";
import type { Budget, Key } from "@pennyblack/sdk";
import { Link } from "@tanstack/react-router";
import { Icon } from "../../components/icon.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { addMoney, formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { describeBudget, isBudgetSpent } from "../keys/budget.ts";
import { BudgetMeter } from "../keys/budget-meter.tsx";
import classes from "./budgets.module.css";

export interface BudgetAction {
  action: "change" | "archive";
  budget: Budget;
}

interface Props {
  budgets: readonly Budget[];
  keysOf: (budget: Budget) => readonly Key[];
  price: string;
  onAction: (action: BudgetAction) => void;
}

const columns: Column[] = [{ name: "Name" }, { name: "Spent" }, { name: "Warnings" }, { name: "Keys" }];

export function BudgetTable({ budgets, ...props }: Props) {
  const { canEdit } = useWallet();
  return (
    <Table label="Budgets" columns={canEdit ? [...columns, { name: "Actions", isHeaderHidden: true }] : columns}>
      {budgets.map((budget) => (
        <BudgetRow key={budget.id} budget={budget} {...props} />
      ))}
    </Table>
  );
}

function BudgetRow({ budget, keysOf, price, onAction }: Omit<Props, "budgets"> & { budget: Budget }) {
  const { canEdit } = useWallet();
  const { name, alerts, created_by: creator } = budget;
  return (
    <Row>
      <RowHeader>
        <span className={classes.wrapped}>{name}</span>
        {creator !== null && (
          <Text size="xs" c="dimmed" fw={400} className={classes.wrapped ?? ""}>
            created by {creator.name ?? `the ${creator.type}`}
          </Text>
        )}
      </RowHeader>
      <Cell label="Spent" className={classes.spent ?? ""}>
        <Spending budget={budget} price={price} />
      </Cell>
      <Cell label="Warnings">{alerts.length === 0 ? <None /> : alerts.map((percent) => `${percent}%`).join(", ")}</Cell>
      <Cell label="Keys">
        <KeyNames keys={keysOf(budget)} />
      </Cell>
      {canEdit && (
        <ActionsCell>
          <BudgetMenu budget={budget} onAction={onAction} />
        </ActionsCell>
      )}
    </Row>
  );
}

function Spending({ budget, price }: { budget: Budget; price: string }) {
  const { amount, increase, spent, period, resets_at } = budget;
  // Each end user has a window; the usage page lists them.
  if (spent === null) return describeBudget(budget);
  const limit = increase ? addMoney([amount, increase.amount]) : amount;
  return (
    <>
      <BudgetMeter budget={{ limit, spent, period, resets_at, isSpent: isBudgetSpent({ limit, spent }, price) }} />
      {increase && (
        <Text size="xs" c="dimmed">
          Includes {formatMoney(increase.amount)} more, which ends <RelativeTime at={increase.ends_at} />
        </Text>
      )}
    </>
  );
}

const maxNames = 3;

function KeyNames({ keys }: { keys: readonly Key[] }) {
  if (keys.length === 0) return <None />;
  const names = keys.slice(0, maxNames).map(({ name }) => name);
  return (
    <span className={classes.wrapped}>
      {names.join(", ")}
      {keys.length > maxNames && ` and ${keys.length - maxNames} more`}
    </span>
  );
}

function None() {
  return (
    <Text span size="sm" c="dimmed">
      None
    </Text>
  );
}

function BudgetMenu({ budget, onAction }: { budget: Budget; onAction: Props["onAction"] }) {
  const { id } = useWallet();
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="ink" aria-label={`Actions for ${budget.name}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onAction({ action: "change", budget })}>Edit</Menu.Item>
        <Menu.Item
          component={Link}
          to="/w/$walletId/activity"
          params={{ walletId: id } as never}
          search={{ subject: budget.id } as never}
        >
          Activity
        </Menu.Item>
        <Menu.Item c="var(--pb-danger)" onClick={() => onAction({ action: "archive", budget })}>
          Archive
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
