import { Anchor, Text } from "@mantine/core";
import type { TopUp } from "@pennyblack/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { topUpsQuery } from "../../api/top-ups.ts";
import { Money } from "../../components/money.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { EmptyState, LoadMore, QueryState } from "../../components/states.tsx";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";
import { Cell, type Column, Row, RowHeader, Table } from "../../components/table.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";

const columns: Column[] = [
  { name: "Created" },
  { name: "Method" },
  { name: "Status" },
  { name: "Amount", isNumeric: true },
  { name: "Receipt", isNumeric: true },
];

export function Receipts() {
  const { id } = useWallet();
  const list = useInfiniteQuery(topUpsQuery(id));
  const topUps = list.data?.pages.flatMap((page) => page.top_ups) ?? [];
  return (
    <Section title="Payments">
      <QueryState query={list} title="Couldn't load payments." rows={3} />
      {list.data && topUps.length === 0 && (
        <EmptyState title="No payments yet">
          Choose an amount above to make your first payment. Its receipt is then listed here.
        </EmptyState>
      )}
      {topUps.length > 0 && (
        <Table label="Top-ups" columns={columns}>
          {topUps.map((topUp) => (
            <TopUpRow key={topUp.id} topUp={topUp} />
          ))}
        </Table>
      )}
      <LoadMore query={list} />
    </Section>
  );
}

const states: Record<TopUp["status"], [Tone, string]> = {
  pending: ["warning", "Pending"],
  succeeded: ["success", "Paid"],
  failed: ["danger", "Failed"],
  expired: ["neutral", "Expired"],
  refunded: ["neutral", "Refunded"],
  disputed: ["danger", "Disputed"],
};

function TopUpRow({ topUp }: { topUp: TopUp }) {
  const [tone, label] = states[topUp.status];
  return (
    <Row>
      <RowHeader>
        <Text span inherit fw={400}>
          <RelativeTime at={topUp.created_at} />
        </Text>
      </RowHeader>
      <Cell label="Method">{topUp.kind === "automatic" ? "Automatic" : "Checkout"}</Cell>
      <Cell label="Status">
        <StatusBadge tone={tone}>{label}</StatusBadge>
        {topUp.failure !== null && (
          <Text size="xs" c="dimmed">
            {topUp.failure.replaceAll("_", " ")}
          </Text>
        )}
        {Number(topUp.refunded) > 0 && (
          <Text size="xs" c="dimmed">
            {formatMoney(topUp.refunded)} refunded
          </Text>
        )}
      </Cell>
      <Cell label="Amount" isNumeric>
        <Money amount={topUp.amount} />
      </Cell>
      <Cell label="Receipt" isNumeric>
        <ReceiptLink topUp={topUp} />
      </Cell>
    </Row>
  );
}

function ReceiptLink({ topUp }: { topUp: TopUp }) {
  const { canEdit } = useWallet();
  if (topUp.receipt_url !== null) {
    return (
      <Anchor size="sm" href={topUp.receipt_url} target="_blank" rel="noreferrer">
        Receipt
      </Anchor>
    );
  }
  if (canEdit && topUp.status === "pending" && topUp.checkout_url !== null) {
    return (
      <Anchor size="sm" href={topUp.checkout_url}>
        Pay now
      </Anchor>
    );
  }
  return (
    <Text span size="sm" c="dimmed">
      –
    </Text>
  );
}
