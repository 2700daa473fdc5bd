import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type TopUp, topUpsQuery } from "../../api/top-ups.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/page.tsx";
import { StateWord, type Tone } from "../../parts/state-word.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { Cell, type Column, HeadCell, Row, Table } from "../../parts/table.tsx";
import { formatMoney } from "../../words/format-money.ts";

const columns: Column[] = [
  { name: "When" },
  { name: "How" },
  { name: "State" },
  { name: "Amount", isFigures: true },
  { name: "Receipt", isFigures: true },
];

export function Receipts() {
  const { id } = useWallet();
  const list = useInfiniteQuery(topUpsQuery(id));
  const topUps = list.data?.pages.flatMap((page) => page.top_ups) ?? [];
  return (
    <Section title="Receipts">
      {list.isPending && <RowsSkeleton rows={3} />}
      {list.isError && !list.data && (
        <Failure error={list.error} what="The top-ups could not be read." retry={() => list.refetch()} />
      )}
      {list.data && topUps.length === 0 && (
        <Empty title="Nothing was paid here yet">Each top-up will be listed with the processor's receipt.</Empty>
      )}
      {topUps.length > 0 && (
        <Table label="Top-ups" columns={columns}>
          {topUps.map((topUp) => (
            <TopUpRow key={topUp.id} topUp={topUp} />
          ))}
        </Table>
      )}
      {list.hasNextPage && (
        <Button variant="default" mt="md" loading={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
          Older
        </Button>
      )}
    </Section>
  );
}

const states: Record<TopUp["status"], [Tone, string]> = {
  pending: ["warning", "Not paid yet"],
  succeeded: ["success", "Paid"],
  failed: ["danger", "Failed"],
  expired: ["quiet", "Ended unpaid"],
  refunded: ["quiet", "Refunded"],
  disputed: ["danger", "Disputed"],
};

function TopUpRow({ topUp }: { topUp: TopUp }) {
  const [tone, word] = states[topUp.status];
  return (
    <Row>
      <HeadCell>
        <Text span inherit fw={400}>
          <Moment at={topUp.created_at} />
        </Text>
      </HeadCell>
      <Cell label="How">{topUp.kind === "automatic" ? "Automatic" : "Checkout"}</Cell>
      <Cell label="State">
        <StateWord tone={tone}>{word}</StateWord>
        {topUp.failure !== null && (
          <Text size="xs" c="dimmed">
            {topUp.failure.replaceAll("_", " ")}
          </Text>
        )}
        {Number(topUp.refunded) > 0 && (
          <Text size="xs" c="dimmed">
            {formatMoney(topUp.refunded)} given back
          </Text>
        )}
      </Cell>
      <Cell label="Amount" isFigures>
        <Money amount={topUp.amount} />
      </Cell>
      <Cell label="Receipt" isFigures>
        <Paper topUp={topUp} />
      </Cell>
    </Row>
  );
}

function Paper({ topUp }: { topUp: TopUp }) {
  const { mayChange } = useWallet();
  if (topUp.receipt_url !== null) {
    return (
      <Anchor size="sm" href={topUp.receipt_url} target="_blank" rel="noreferrer">
        Receipt
      </Anchor>
    );
  }
  if (mayChange && topUp.status === "pending" && topUp.checkout_url !== null) {
    return (
      <Anchor size="sm" href={topUp.checkout_url}>
        Pay it
      </Anchor>
    );
  }
  return (
    <Text span size="sm" c="dimmed">
      –
    </Text>
  );
}
