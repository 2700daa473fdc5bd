import { Anchor, Text } from "@mantine/core";
import type { Run } from "@pennyblack/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { runsQuery } from "../../api/usage.ts";
import { Meter } from "../../components/meter.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, ErrorState, LoadMore, RowsSkeleton } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Cell, Row, RowHeader, Table } from "../../components/table.tsx";
import { useNow } from "../../components/use-now.ts";
import { isLessThan } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";
import { clockIntervalMs, formatCount } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./usage.module.css";

export function Runs() {
  const { id } = useWallet();
  const list = useInfiniteQuery(runsQuery(id));
  if (list.isPending) return <RowsSkeleton />;
  if (list.isError && !list.data) {
    return <ErrorState error={list.error} title="Couldn't load runs." onRetry={() => list.refetch()} />;
  }
  const runs = list.data.pages.flatMap((page) => page.runs);
  return (
    <>
      <Text size="sm" c="dimmed" mb="md">
        Open runs and runs that ended in the last hour. Their searches stay in the ledger.
      </Text>
      {runs.length === 0 ? (
        <EmptyState
          title="No open runs"
          action={
            <Anchor href="/docs/budgets" target="_blank" size="sm">
              How to limit the cost of a run
            </Anchor>
          }
        >
          A run limits the total cost of one task, such as one session of an agent. To start a run, send the header{" "}
          <span className="mono">Search-Run</span> with an ID and a maximum.
        </EmptyState>
      ) : (
        <Table label="Runs" columns={[{ name: "Run" }, { name: "Spent" }, { name: "Started" }, { name: "Status" }]}>
          {runs.map((run) => (
            <RunRow key={`${run.run} ${run.first_at}`} run={run} />
          ))}
        </Table>
      )}
      <LoadMore query={list} />
    </>
  );
}

function RunRow({ run }: { run: Run }) {
  const { id } = useWallet();
  const isSpent = !isLessThan(run.spent, run.limit);
  return (
    <Row>
      <RowHeader>
        <Link
          to="/w/$walletId/usage"
          params={{ walletId: id }}
          search={{ run: run.run, kind: "all" }}
          className={`mono ${classes.run ?? ""} ${classes.bucketLink ?? ""}`}
        >
          {run.run}
        </Link>
        <Text size="xs" c="dimmed" fw={400}>
          {formatCount(run.searches, "search", "searches")}
        </Text>
      </RowHeader>
      <Cell label="Spent">
        {formatMoney(run.spent)} of {formatMoney(run.limit)}
        <Meter spent={run.spent} limit={run.limit} isFull={isSpent} label={`Spent by ${run.run}`} />
      </Cell>
      <Cell label="Started">
        <RelativeTime at={run.first_at} />
      </Cell>
      <Cell label="Status">
        <RunStatus run={run} isSpent={isSpent} />
      </Cell>
    </Row>
  );
}

function RunStatus({ run, isSpent }: { run: Run; isSpent: boolean }) {
  const now = useNow(clockIntervalMs);
  if (Date.parse(run.expires_at) <= now.getTime()) return <StatusBadge tone="neutral">Ended</StatusBadge>;
  return (
    <>
      {isSpent ? <StatusBadge tone="danger">Budget spent</StatusBadge> : <StatusBadge tone="success">Open</StatusBadge>}
      <Text size="xs" c="dimmed">
        ends <RelativeTime at={run.expires_at} />
      </Text>
    </>
  );
}
