import { Anchor, Button, Group, Loader, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { type TopUp, topUpQuery } from "../../api/top-ups.ts";
import { summaryQuery, walletQuery } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Notice } from "../../parts/notice.tsx";
import { Failure } from "../../parts/states.tsx";
import { formatMoney } from "../../words/format-money.ts";

/** After the processor's page: waits for the money, and says when it arrived. */
export function Returned({ topUpId, hasLeft, onDone }: { topUpId: string; hasLeft: boolean; onDone: () => void }) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const topUp = useQuery(topUpQuery(id, topUpId));
  const status = topUp.data?.status;
  useEffect(() => {
    // The balance above, the list below and the ledger have changed with it.
    if (status === "succeeded") queries.invalidateQueries({ queryKey: ["wallet", id] }).catch(() => undefined);
  }, [status, id, queries]);
  if (topUp.isError && !topUp.data) {
    return <Failure error={topUp.error} what="Your top-up could not be looked up." retry={() => topUp.refetch()} />;
  }
  if (!topUp.data) return <Waiting text="Looking for your payment." />;
  if (status === "pending") return <Pending topUp={topUp.data} hasLeft={hasLeft} onDone={onDone} />;
  if (status === "succeeded") return <Arrived topUp={topUp.data} onDone={onDone} />;
  return (
    <Notice title={`The top-up of ${formatMoney(topUp.data.amount)} did not go through`} tone="warning">
      <Text size="sm">
        {status === "expired" ? "The checkout ended before it was paid." : "The payment processor refused it."} Nothing
        was added to your wallet.
      </Text>
      <Close onDone={onDone} />
    </Notice>
  );
}

function Pending({ topUp, hasLeft, onDone }: { topUp: TopUp; hasLeft: boolean; onDone: () => void }) {
  if (!hasLeft) {
    return (
      <Notice title={`Waiting for ${formatMoney(topUp.amount)}`}>
        <Group gap="xs" wrap="nowrap">
          <Loader size="xs" aria-hidden="true" />
          <Text size="sm">
            The payment processor tells us when it has the money, mostly within seconds. You may leave this page.
          </Text>
        </Group>
        <GoOn topUp={topUp} onDone={onDone} />
      </Notice>
    );
  }
  return (
    <Notice title="You left the checkout" tone="warning">
      <Text size="sm">{formatMoney(topUp.amount)} was not paid. Nothing was charged.</Text>
      <GoOn topUp={topUp} onDone={onDone} />
    </Notice>
  );
}

function GoOn({ topUp, onDone }: { topUp: TopUp; onDone: () => void }) {
  return (
    <Group gap="md">
      {topUp.checkout_url !== null && (
        <Anchor size="sm" href={topUp.checkout_url}>
          Back to the checkout
        </Anchor>
      )}
      <Close onDone={onDone} />
    </Group>
  );
}

function Arrived({ topUp, onDone }: { topUp: TopUp; onDone: () => void }) {
  const { id } = useWallet();
  const wallet = useQuery(walletQuery(id));
  const summary = useQuery(summaryQuery(id, "live"));
  const balance = wallet.data?.balance ?? summary.data?.balance;
  return (
    <Notice title={`${formatMoney(topUp.amount)} arrived`} tone="success">
      <Text size="sm">
        {balance !== undefined && `Your balance is ${formatMoney(balance)}. `}Searches go on by themselves.
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
