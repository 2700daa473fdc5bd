import { Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Entry } from "../../api/ledger.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Money } from "../../parts/money.tsx";
import { Cell, type Column, Row, Table } from "../../parts/table.tsx";
import { formatExact, formatRelative } from "../../words/format-time.ts";
import { kindWords } from "./kind-words.ts";
import classes from "./ledger.module.css";

const columns: Column[] = [
  { name: "Date" },
  { name: "What" },
  { name: "Request" },
  { name: "Amount", isFigures: true },
  { name: "Balance", isFigures: true },
];

/** Lines of a bank statement. The balance after each stands where none is left out. */
export function EntryTable(props: { label: string; entries: readonly Entry[]; hasBalance: boolean; foot?: ReactNode }) {
  const { label, entries, hasBalance, foot } = props;
  return (
    <Table
      label={label}
      columns={hasBalance ? columns : columns.slice(0, -1)}
      className={classes.statement ?? ""}
      foot={foot}
    >
      {entries.map((entry) => (
        <EntryRow key={entry.id} entry={entry} hasBalance={hasBalance} />
      ))}
    </Table>
  );
}

function EntryRow({ entry, hasBalance }: { entry: Entry; hasBalance: boolean }) {
  const { id } = useWallet();
  const isIn = !entry.amount.startsWith("-");
  return (
    <Row>
      <Cell className={classes.date ?? ""}>
        <StatementTime at={entry.created_at} />
      </Cell>
      <Cell className={classes.what ?? ""}>
        {entry.request_id === null ? (
          kindWords[entry.kind].one
        ) : (
          <Link
            to="/w/$walletId/ledger"
            params={{ walletId: id }}
            search={{ request_id: entry.request_id }}
            className={classes.whatLink}
            tabIndex={-1}
          >
            {kindWords[entry.kind].one}
          </Link>
        )}
      </Cell>
      <Cell className={classes.request ?? ""}>
        {entry.request_id !== null && (
          <Link
            to="/w/$walletId/ledger"
            params={{ walletId: id }}
            search={{ request_id: entry.request_id }}
            className={`mono ${classes.id ?? ""}`}
          >
            {entry.request_id}
          </Link>
        )}
      </Cell>
      <Cell isFigures className={classes.amount ?? ""}>
        <span className={isIn ? classes.in : undefined}>
          <Money amount={entry.amount} isChange />
        </span>
      </Cell>
      {hasBalance && (
        <Cell isFigures className={classes.balance ?? ""}>
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

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** A statement is read by its dates; how long ago it was is said on hover. */
function StatementTime({ at }: { at: string }) {
  const moment = new Date(at);
  return (
    <time dateTime={at} title={`${formatExact(moment)}, ${formatRelative(moment, new Date())}`}>
      {day.format(moment)}{" "}
      <Text span size="sm" c="dimmed">
        {time.format(moment)}
      </Text>
    </time>
  );
}
