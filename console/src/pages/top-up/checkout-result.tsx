import { Anchor, Button, Group, Loader, Text } from "@mantine/core";
import type { TopUp } from "@pennyblack/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { topUpQuery } from "../../api/top-ups.ts";
import { summaryQuery, walletQuery } from "../../api/wallet.ts";
import { Notice } from "../../components/notice.tsx";
import { ErrorState } from "../../components/states.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";

/** Shown after checkout while waiting for the payment. */
export function CheckoutResult({
  topUpId,
  isCanceled,
  onDone,
}: {
  topUpId: string;
  isCanceled: boolean;
  onDone: () => void;
}) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const topUp = useQuery(topUpQuery(id, topUpId));
  const status = topUp.data?.status;
  useEffect(() => {
    // The balance, the payments and the ledger have changed.
    if (status === "succeeded") queries.invalidateQueries({ queryKey: ["wallet", id] }).catch(() => undefined);
  }, [status, id, queries]);
  if (topUp.isError && !topUp.data) {
    return <ErrorState error={topUp.error} title="Couldn't load your top-up." onRetry={() => topUp.refetch()} />;
  }
  if (!topUp.data) return <Waiting text="Checking your payment." />;
  if (status === "pending") return <Pending topUp={topUp.data} isCanceled={isCanceled} onDone={onDone} />;
  if (status === "succeeded") return <PaymentReceived topUp={topUp.data} onDone={onDone} />;
  return (
    <Notice title={`The top-up of ${formatMoney(topUp.data.amount)} failed`} tone="warning">
      <Text size="sm">
        {status === "expired" ? "The checkout expired before it was paid." : "The payment was declined."} Nothing was
        added to your wallet.
      </Text>
      <Close onDone={onDone} />
    </Notice>
  );
}

function Pending({ topUp, isCanceled, onDone }: { topUp: TopUp; isCanceled: boolean; onDone: () => void }) {
  if (!isCanceled) {
    return (
      <Notice title={`Waiting for your payment of ${formatMoney(topUp.amount)}`}>
        <Group gap="xs" wrap="nowrap">
          <Loader size="xs" aria-hidden="true" />
          <Text size="sm">Payments are usually confirmed within seconds. You can leave this page.</Text>
        </Group>
        <PendingActions topUp={topUp} onDone={onDone} />
      </Notice>
    );
  }
  return (
    <Notice title="Checkout canceled" tone="warning">
      <Text size="sm">The payment of {formatMoney(topUp.amount)} was not completed. You were not charged.</Text>
      <PendingActions topUp={topUp} onDone={onDone} />
    </Notice>
  );
}

function PendingActions({ topUp, onDone }: { topUp: TopUp; onDone: () => void }) {
  return (
    <Group gap="md">
      {topUp.checkout_url !== null && (
        <Anchor size="sm" href={topUp.checkout_url}>
          Return to checkout
        </Anchor>
      )}
      <Close onDone={onDone} />
    </Group>
  );
}

function PaymentReceived({ topUp, onDone }: { topUp: TopUp; onDone: () => void }) {
  const { id } = useWallet();
  const wallet = useQuery(walletQuery(id));
  const summary = useQuery(summaryQuery(id, "live"));
  const balance = wallet.data?.balance ?? summary.data?.balance;
  return (
    <Notice title={`${formatMoney(topUp.amount)} received`} tone="success">
      <Text size="sm">
        {balance !== undefined && `Your balance is ${formatMoney(balance)}. `}You can search right away.
      </Text>
      <Close onDone={onDone} />
    </Notice>
  );
}

function Close({ onDone }: { onDone: () => void }) {
  return (
    <Button variant="default" size="xs" onClick={onDone}>
      Close
    </Button>
  );
}

function Waiting({ text }: { text: string }) {
  return (
    <Notice title={text}>
      <Loader size="xs" aria-hidden="true" />
    </Notice>
  );
}
