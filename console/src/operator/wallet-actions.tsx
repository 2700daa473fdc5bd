import { Badge, Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Money } from "../components/money.tsx";
import { Section } from "../components/page.tsx";
import { ErrorState, InlineError, RowsSkeleton } from "../components/states.tsx";
import { formatMoney } from "../format/format-money.ts";
import { AccountLink } from "./account-link.tsx";
import { Changes } from "./changes.tsx";
import { walletQuery } from "./queries.ts";

export function WalletActions({ walletId }: { walletId: string }) {
  const { data: wallet, error, refetch } = useQuery(walletQuery(walletId));
  if (error) return <ErrorState error={error} title="Couldn't load the wallet." onRetry={refetch} />;
  if (!wallet) return <RowsSkeleton rows={3} />;
  return (
    <Section
      title={wallet.name}
      description={
        <span className="mono">
          {walletId} {wallet.suspended && <Badge color="red">suspended</Badge>}
        </span>
      }
    >
      <Text mb="md">
        Balance <Money amount={wallet.balance} />, of which <Money amount={wallet.held} /> is on hold.{" "}
        <AccountLink id={walletId} />
      </Text>
      <Group align="flex-start" gap="xl">
        <CreditForm walletId={walletId} />
        <SuspendForm walletId={walletId} isSuspended={wallet.suspended} />
      </Group>
      <Changes walletId={walletId} />
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
      api<{ outcome: string; balance: string; adjustment_id?: string }>(`/operator/wallets/${walletId}/credit`, {
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
          label="Credit (USD)"
          placeholder="5.00"
          inputMode="decimal"
          required
          value={amount}
          onChange={(event) => setAmount(event.currentTarget.value)}
        />
        <Select
          label="Type"
          value={kind}
          onChange={(value) => setKind(value ?? "promotion")}
          allowDeselect={false}
          data={[
            { value: "promotion", label: "Promotional credit" },
            { value: "invoice", label: "Invoice payment" },
          ]}
        />
        <TextInput
          label="Reference"
          description="Each reference is credited only once."
          required
          value={reference}
          onChange={(event) => setReference(event.currentTarget.value)}
        />
        <TextInput label="Reason" required value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
        <Button type="submit" loading={credit.isPending}>
          Add credit
        </Button>
        <InlineError error={credit.error} />
        {credit.data && (
          <Text size="sm" role="status">
            {credit.data.outcome.replaceAll("_", " ")}. Balance: {formatMoney(credit.data.balance)}.{" "}
            {credit.data.adjustment_id !== undefined && (
              <>
                A second operator must approve it:{" "}
                <code>npm run admin -- adjust approve --adjustment {credit.data.adjustment_id}</code>
              </>
            )}
          </Text>
        )}
      </Stack>
    </form>
  );
}

function SuspendForm({ walletId, isSuspended }: { walletId: string; isSuspended: boolean }) {
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const action = isSuspended ? "resume" : "suspend";
  const changeStatus = useMutation({
    mutationFn: () => api(`/operator/wallets/${walletId}/${action}`, { method: "POST", body: { reason } }),
    onSuccess: async () => {
      setReason("");
      await queries.invalidateQueries();
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        changeStatus.mutate();
      }}
    >
      <Stack gap="sm" w={320}>
        <TextInput
          label={isSuspended ? "Reason for resuming" : "Reason for suspending"}
          description={
            isSuspended
              ? "The wallet's keys can search again immediately."
              : "New searches are rejected and not charged."
          }
          required
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <Button type="submit" variant="outline" color={isSuspended ? "blue" : "red"} loading={changeStatus.isPending}>
          {isSuspended ? "Resume wallet" : "Suspend wallet"}
        </Button>
        <InlineError error={changeStatus.error} />
      </Stack>
    </form>
  );
}
