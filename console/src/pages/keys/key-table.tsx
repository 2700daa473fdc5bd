import { ActionIcon, Menu, Text } from "@mantine/core";
import type { Key } from "../../api/keys.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Icon } from "../../parts/icon.tsx";
import { Moment } from "../../parts/moment.tsx";
import { ModeWord } from "../../parts/state-word.tsx";
import { ActCell, Cell, type Column, HeadCell, Row, Table } from "../../parts/table.tsx";
import { BudgetCell } from "./budget-cell.tsx";
import { KeyState } from "./key-state.tsx";
import classes from "./keys.module.css";

export interface Act {
  act: "change" | "rotate" | "revoke";
  key: Key;
}

interface Props {
  keys: readonly Key[];
  /** Also those that took the place of others. */
  all: readonly Key[];
  price: string;
  onAct: (act: Act) => void;
}

const columns: Column[] = [
  { name: "Name" },
  { name: "Key" },
  { name: "Last used" },
  { name: "Budget" },
  { name: "State" },
];

export function KeyTable({ label, ...props }: Props & { label: string }) {
  const { mayChange } = useWallet();
  return (
    <Table label={label} columns={mayChange ? [...columns, { name: "Change", isQuiet: true }] : columns}>
      {props.keys.map((key) => (
        <KeyRow key={key.id} apiKey={key} {...props} />
      ))}
    </Table>
  );
}

function KeyRow({ apiKey, all, price, onAct }: Omit<Props, "keys"> & { apiKey: Key }) {
  const { mayChange } = useWallet();
  const heir = all.find(({ rotated_from: from }) => from === apiKey.id);
  return (
    <Row>
      <HeadCell>
        <span className={classes.name}>{apiKey.name}</span> <ModeWord mode={apiKey.mode} />
        {apiKey.allowed_ips !== null && (
          <Text size="xs" c="dimmed" fw={400}>
            from {apiKey.allowed_ips.slice(0, 2).join(", ")}
            {apiKey.allowed_ips.length > 2 && ` and ${apiKey.allowed_ips.length - 2} more`}
          </Text>
        )}
      </HeadCell>
      <Cell label="Key">
        <span className="mono">{apiKey.start}…</span>
      </Cell>
      <Cell label="Last used" className={classes.once ?? ""}>
        {apiKey.last_used_at === null ? "never" : <Moment at={apiKey.last_used_at} />}
      </Cell>
      <Cell label="Budget">
        <BudgetCell apiKey={apiKey} price={price} />
      </Cell>
      <Cell label="State">
        <KeyState apiKey={apiKey} price={price} heir={heir} />
      </Cell>
      {mayChange && (
        <ActCell>
          {apiKey.state === "active" && <KeyMenu apiKey={apiKey} isReplaced={heir !== undefined} onAct={onAct} />}
        </ActCell>
      )}
    </Row>
  );
}

function KeyMenu({ apiKey, isReplaced, onAct }: { apiKey: Key; isReplaced: boolean; onAct: (act: Act) => void }) {
  return (
    <Menu position="bottom-end" width={200}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="ink" aria-label={`Change ${apiKey.name}`}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {!isReplaced && (
          <>
            <Menu.Item onClick={() => onAct({ act: "change", key: apiKey })}>Change name and limits</Menu.Item>
            <Menu.Item onClick={() => onAct({ act: "rotate", key: apiKey })}>Rotate</Menu.Item>
          </>
        )}
        <Menu.Item c="var(--pb-danger)" onClick={() => onAct({ act: "revoke", key: apiKey })}>
          Revoke
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
