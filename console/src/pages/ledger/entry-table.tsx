import { Text } from "@mantine/core";
import type { Entry } from "@pennyblack/sdk";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Money } from "../../components/money.tsx";
import { ExactTime } from "../../components/relative-time.tsx";
import { Cell, type Column, Row, Table } from "../../components/table.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { entryLabels } from "./entry-labels.ts";
import classes from "./ledger.module.css";

const columns: Column[] = [
  { name: "Date" },
  { name: "Type" },
  { name: "Request" },
  { name: "Amount", isNumeric: true },
  { name: "Balance", isNumeric: true },
];

/** Ledger entries. The running balance is shown only in unfiltered lists. */
export function EntryTable(props: {
  label: string;
  entries: readonly Entry[];
  hasBalance: boolean;
  footer?: ReactNode;
}) {
  const { label, entries, hasBalance, footer } = props;
  return (
    <Table
      label={label}
      columns={hasBalance ? columns : columns.slice(0, -1)}
      className={classes.statement ?? ""}
      footer={footer}
    >
      {entries.map((entry) => (
        <EntryRow key={entry.id} entry={entry} hasBalance={hasBalance} />
      ))}
    </Table>
  );
}

function EntryRow({ entry, hasBalance }: { entry: Entry; hasBalance: boolean }) {
  const { id } = useWallet();
  const isIncoming = !entry.amount.startsWith("-");
  return (
    <Row>
      <Cell className={classes.date ?? ""}>
        <ExactTime at={entry.created_at} />
      </Cell>
      <Cell className={classes.kind ?? ""}>
        {entry.request_id === null ? (
          entryLabels[entry.kind].singular
        ) : (
          <Link
            to="/w/$walletId/searches/$requestId"
            params={{ walletId: id, requestId: entry.request_id }}
            className={classes.kindLink}
            tabIndex={-1}
          >
            {entryLabels[entry.kind].singular}
          </Link>
        )}
      </Cell>
      <Cell className={classes.request ?? ""}>
        {entry.request_id !== null && (
          <Link
            to="/w/$walletId/searches/$requestId"
            params={{ walletId: id, requestId: entry.request_id }}
            className={`mono ${classes.id ?? ""}`}
          >
            {entry.request_id}
          </Link>
        )}
      </Cell>
      <Cell isNumeric className={classes.amount ?? ""}>
        <span className={isIncoming ? classes.incoming : undefined}>
          <Money amount={entry.amount} isSigned />
        </span>
      </Cell>
      {hasBalance && (
        <Cell isNumeric className={classes.balance ?? ""}>
          {entry.balance === undefined ? (
            <Text span c="dimmed">
              –
            </Text>
          ) : (
            <Money amount={entry.balance} />
          )}
        </Cell>
      )}
    </Row>
  );
}
