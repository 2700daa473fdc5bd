import { ActionIcon, Menu, Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { Link } from "@tanstack/react-router";
import { Icon } from "../../components/icon.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { ModeBadge } from "../../components/status-badge.tsx";
import { ActionsCell, Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { BudgetCell } from "./budget-cell.tsx";
import { KeyStatus } from "./key-status.tsx";
import classes from "./keys.module.css";

export interface KeyAction {
  action: "change" | "rotate" | "revoke";
  key: Key;
}

interface Props {
  keys: readonly Key[];
  /** Includes inactive keys, to find the successor of a rotated one. */
  allKeys: readonly Key[];
  price: string;
  onAction: (action: KeyAction) => void;
}

const columns: Column[] = [
  { name: "Name" },
  { name: "Key" },
  { name: "Last used" },
  { name: "Budget" },
  { name: "Status" },
];

export function KeyTable({ label, ...props }: Props & { label: string }) {
  const { canEdit } = useWallet();
  return (
    <Table label={label} columns={canEdit ? [...columns, { name: "Actions", isHeaderHidden: true }] : columns}>
      {props.keys.map((key) => (
        <KeyRow key={key.id} apiKey={key} {...props} />
      ))}
    </Table>
  );
}

function KeyRow({ apiKey, allKeys, price, onAction }: Omit<Props, "keys"> & { apiKey: Key }) {
  const { canEdit } = useWallet();
  const successor = allKeys.find(({ rotated_from: from }) => from === apiKey.id);
  return (
    <Row>
      <RowHeader>
        <span className={classes.name}>{apiKey.name}</span> <ModeBadge mode={apiKey.mode} />
        {apiKey.allowed_ips !== null && (
          <Text size="xs" c="dimmed" fw={400}>
            from {apiKey.allowed_ips.slice(0, 2).join(", ")}
            {apiKey.allowed_ips.length > 2 && ` and ${apiKey.allowed_ips.length - 2} more`}
          </Text>
        )}
        {apiKey.created_by !== null && (
          <Text size="xs" c="dimmed" fw={400} className={classes.name ?? ""}>
            created by {apiKey.created_by.name ?? `the ${apiKey.created_by.type}`}
          </Text>
        )}
      </RowHeader>
      <Cell label="Key">
        <span className="mono">{apiKey.start}…</span>
      </Cell>
      <Cell label="Last used" className={classes.nowrap ?? ""}>
        {apiKey.last_used_at === null ? "Never" : <RelativeTime at={apiKey.last_used_at} />}
      </Cell>
      <Cell label="Budget">
        <BudgetCell apiKey={apiKey} price={price} />
      </Cell>
      <Cell label="Status">
        <KeyStatus apiKey={apiKey} price={price} successor={successor} />
      </Cell>
      {canEdit && (
        <ActionsCell>
          {apiKey.state !== "revoked" && (
            <KeyMenu apiKey={apiKey} isReplaced={successor !== undefined} onAction={onAction} />
          )}
        </ActionsCell>
      )}
    </Row>
  );
}

function KeyMenu({
  apiKey,
  isReplaced,
  onAction,
}: {
  apiKey: Key;
  isReplaced: boolean;
  onAction: (action: KeyAction) => void;
}) {
  const { id } = useWallet();
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="ink" aria-label={`Actions for ${apiKey.name}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {apiKey.state === "active" && !isReplaced && (
          <>
            <Menu.Item onClick={() => onAction({ action: "change", key: apiKey })}>Edit</Menu.Item>
            <Menu.Item onClick={() => onAction({ action: "rotate", key: apiKey })}>Rotate</Menu.Item>
          </>
        )}
        <Menu.Item
          component={Link}
          to="/w/$walletId/activity"
          params={{ walletId: id } as never}
          search={{ subject: apiKey.id } as never}
        >
          Activity
        </Menu.Item>
        <Menu.Item c="var(--pb-danger)" onClick={() => onAction({ action: "revoke", key: apiKey })}>
          Revoke
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
