import { Button, Group, Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type App, appsQuery } from "../../api/apps.ts";
import { api } from "../../api/client.ts";
import { walletPath } from "../../api/wallet.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError } from "../../components/states.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { BudgetCell } from "../keys/budget-cell.tsx";
import classes from "./apps.module.css";

export type AppWithKey = App & { key: Key };

export interface AppAction {
  action: "edit" | "disconnect";
  app: AppWithKey;
}

const columns: Column[] = [
  { name: "App" },
  { name: "Connected by" },
  { name: "Connected" },
  { name: "Last used" },
  { name: "Budget" },
];

interface Props {
  price: string;
  onAction: (action: AppAction) => void;
}

export function AppTable({ label, apps, ...props }: Props & { label: string; apps: readonly AppWithKey[] }) {
  const { canEdit } = useWallet();
  return (
    <Table label={label} columns={canEdit ? [...columns, { name: "Actions", isHeaderHidden: true }] : columns}>
      {apps.map((app) => (
        <AppRow key={app.key_id} app={app} {...props} />
      ))}
    </Table>
  );
}

function AppRow({ app, price, onAction }: Props & { app: AppWithKey }) {
  const { canEdit } = useWallet();
  const { key } = app;
  return (
    <Row>
      <RowHeader>
        <span className={classes.wrapped}>{key.name}</span>
        {key.name !== app.client_id && (
          <Text size="xs" c="dimmed" fw={400} className={classes.wrapped}>
            {app.client_id}
          </Text>
        )}
      </RowHeader>
      <Cell label="Connected by">
        <span className={classes.wrapped}>{app.you ? "You" : app.email}</span>
      </Cell>
      <Cell label="Connected">
        <RelativeTime at={key.created_at} />
      </Cell>
      <Cell label="Last used">{key.last_used_at === null ? "Never" : <RelativeTime at={key.last_used_at} />}</Cell>
      <Cell label="Budget">
        <BudgetCell apiKey={key} price={price} />
      </Cell>
      {canEdit && (
        <ActionsCell isWide>
          {key.state === "active" ? <ActiveActions app={app} onAction={onAction} /> : <AllowAgain app={app} />}
        </ActionsCell>
      )}
    </Row>
  );
}

function ActiveActions({ app, onAction }: { app: AppWithKey; onAction: Props["onAction"] }) {
  return (
    <Group gap={4} justify="flex-end" wrap="nowrap">
      <Button
        variant="subtle"
        color="ink"
        size="compact-sm"
        aria-label={`Edit ${app.key.name}`}
        onClick={() => onAction({ action: "edit", app })}
      >
        Edit
      </Button>
      <Button
        variant="subtle"
        color="ink"
        size="compact-sm"
        aria-label={`Disconnect ${app.key.name}`}
        onClick={() => onAction({ action: "disconnect", app })}
      >
        Disconnect
      </Button>
    </Group>
  );
}

/** The app connects again with its next request. */
function AllowAgain({ app }: { app: AppWithKey }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const allow = useMutation({
    mutationFn: () => api(walletPath(id, `apps/${app.key_id}/allow`), { method: "POST" }),
    onSuccess: () => queries.invalidateQueries(appsQuery(id)),
  });
  return (
    <>
      <Button
        variant="subtle"
        color="ink"
        size="compact-sm"
        aria-label={`Allow ${app.key.name} again`}
        loading={allow.isPending}
        onClick={() => allow.mutate()}
      >
        Allow again
      </Button>
      <InlineError error={allow.error} />
    </>
  );
}
