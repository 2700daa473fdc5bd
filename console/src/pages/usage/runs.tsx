import { Button, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type Run, runsQuery } from "../../api/usage.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Meter } from "../../parts/meter.tsx";
import { Moment } from "../../parts/moment.tsx";
import { StateWord } from "../../parts/state-word.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { Cell, HeadCell, Row, Table } from "../../parts/table.tsx";
import { useNow } from "../../parts/use-now.ts";
import { isLess } from "../../words/amounts.ts";
import { formatMoney } from "../../words/format-money.ts";
import { formatCount } from "../../words/format-time.ts";
import classes from "./usage.module.css";

/** What each run of an agent spent, of what it may. */
export function Runs() {
  const { id } = useWallet();
  const list = useInfiniteQuery(runsQuery(id));
  if (list.isPending) return <RowsSkeleton />;
  if (list.isError && !list.data) {
    return <Failure error={list.error} what="The runs could not be read." retry={() => list.refetch()} />;
  }
  const runs = list.data.pages.flatMap((page) => page.runs);
  return (
    <>
      <Text size="sm" c="dimmed" mb="md">
        Runs that are open or ended in the last hour; their searches stay in the ledger.
      </Text>
      {runs.length === 0 ? (
        <Empty title="No run is open">
          Send the header <span className="mono">Search-Run</span> with an id and a maximum, and all searches of that
          run together cannot spend more. Handy for agents that loop.
        </Empty>
      ) : (
        <Table label="Runs" columns={[{ name: "Run" }, { name: "Spent" }, { name: "Began" }, { name: "State" }]}>
          {runs.map((run) => (
            <RunRow key={`${run.run} ${run.first_at}`} run={run} />
          ))}
        </Table>
      )}
      {list.hasNextPage && (
        <Button variant="default" mt="md" loading={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
          Older
        </Button>
      )}
    </>
  );
}

function RunRow({ run }: { run: Run }) {
  const isSpent = !isLess(run.spent, run.limit);
  return (
    <Row>
      <HeadCell>
        <span className={`mono ${classes.run ?? ""}`}>{run.run}</span>
        <Text size="xs" c="dimmed" fw={400}>
          {formatCount(run.searches, "search", "searches")}
        </Text>
      </HeadCell>
      <Cell label="Spent">
        {formatMoney(run.spent)} of {formatMoney(run.limit)}
        <Meter spent={run.spent} limit={run.limit} isFull={isSpent} label={`Spent by ${run.run}`} />
      </Cell>
      <Cell label="Began">
        <Moment at={run.first_at} />
      </Cell>
      <Cell label="State">
        <RunState run={run} isSpent={isSpent} />
      </Cell>
    </Row>
  );
}

function RunState({ run, isSpent }: { run: Run; isSpent: boolean }) {
  const now = useNow(15_000);
  if (Date.parse(run.expires_at) <= now.getTime()) return <StateWord tone="quiet">Ended</StateWord>;
  return (
    <>
      {isSpent ? <StateWord tone="danger">Refuses searches</StateWord> : <StateWord tone="success">Open</StateWord>}
      <Text size="xs" c="dimmed">
        ends <Moment at={run.expires_at} />
      </Text>
    </>
  );
}
