import { Badge, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Money } from "../parts/money.tsx";
import { Section } from "../parts/page.tsx";
import { Failure, Refusal, RowsSkeleton } from "../parts/states.tsx";
import { formatMoney } from "../words/format-money.ts";
import { walletQuery } from "./queries.ts";

/** What an operator does to one wallet: give credit, stop it, let it go on. */
export function WalletActs({ walletId }: { walletId: string }) {
  const { data: wallet, error, refetch } = useQuery(walletQuery(walletId));
  if (error) return <Failure error={error} what="The wallet could not be read." retry={refetch} />;
  if (!wallet) return <RowsSkeleton rows={3} />;
  return (
    <Section
      title={wallet.name}
      about={
        <span className="mono">
          {walletId} {wallet.suspended && <Badge color="red">suspended</Badge>}
        </span>
      }
    >
      <Text mb="md">
        <Money amount={wallet.balance} />, of which <Money amount={wallet.held} /> held for searches in flight
      </Text>
      <Group align="flex-start" gap="xl">
        <CreditForm walletId={walletId} />
        <SuspendForm walletId={walletId} isSuspended={wallet.suspended} />
      </Group>
    </Section>
  );
}

function CreditForm({ walletId }: { walletId: string }) {
  const [amount, setAmount] = useState("");
  const [kind, setKind] = useState("promotion");
  const [reference, setReference] = useState("");
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const credit = useMutation({
    mutationFn: () =>
      api<{ outcome: string; balance: string }>(`/operator/wallets/${walletId}/credit`, {
        method: "POST",
        body: { amount, kind, reference, reason },
      }),
    onSuccess: () => queries.invalidateQueries(),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        credit.mutate();
      }}
    >
      <Stack gap="sm" w={320}>
        <TextInput
          label="Credit, in USD"
          placeholder="5.00"
          inputMode="decimal"
          required
          value={amount}
          onChange={(event) => setAmount(event.currentTarget.value)}
        />
        <Select
          label="Kind"
          value={kind}
          onChange={(value) => setKind(value ?? "promotion")}
          allowDeselect={false}
          data={[
            { value: "promotion", label: "A gift of ours" },
            { value: "invoice", label: "Paid by invoice" },
          ]}
        />
        <TextInput
          label="Reference"
          description="The same reference is credited once, however often it is sent."
          required
          value={reference}
          onChange={(event) => setReference(event.currentTarget.value)}
        />
        <TextInput label="Why" required value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
        <Button type="submit" loading={credit.isPending}>
          Give credit
        </Button>
        <Refusal error={credit.error} />
        {credit.data && (
          <Text size="sm" role="status">
            {credit.data.outcome.replaceAll("_", " ")}. The balance is {formatMoney(credit.data.balance)}.
          </Text>
        )}
      </Stack>
    </form>
  );
}

function SuspendForm({ walletId, isSuspended }: { walletId: string; isSuspended: boolean }) {
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const word = isSuspended ? "resume" : "suspend";
  const act = useMutation({
    mutationFn: () => api(`/operator/wallets/${walletId}/${word}`, { method: "POST", body: { reason } }),
    onSuccess: async () => {
      setReason("");
      await queries.invalidateQueries();
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        act.mutate();
      }}
    >
      <Stack gap="sm" w={320}>
        <TextInput
          label={isSuspended ? "Why it may go on" : "Why it has to stop"}
          description={
            isSuspended
              ? "Its keys can search again at once."
              : "No search that begins after this is served or charged."
          }
          required
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <Button type="submit" variant="outline" color={isSuspended ? "blue" : "red"} loading={act.isPending}>
          {isSuspended ? "Resume the wallet" : "Suspend the wallet"}
        </Button>
        <Refusal error={act.error} />
      </Stack>
    </form>
  );
}
