import { Button, Group, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { type AlertSettings, alertsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { AmountInput } from "../../parts/amount-input.tsx";
import { Section } from "../../parts/page.tsx";
import { Failure, Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { readAmount } from "../../words/amounts.ts";
import { formatMoney } from "../../words/format-money.ts";
import classes from "./alerts.module.css";

export function LowBalance() {
  const { id, mayChange } = useWallet();
  const { features } = useSession();
  const alerts = useQuery(alertsQuery(id));
  return (
    <Section
      title="Low balance"
      about={
        features.mail
          ? "We write before searches are refused, at most once an hour. Webhooks are told too."
          : "This installation sends no mail. Webhooks that are told of wallet.low_balance are told all the same."
      }
    >
      {alerts.isPending && <RowsSkeleton rows={2} />}
      {alerts.isError && !alerts.data && (
        <Failure error={alerts.error} what="The alerts could not be read." retry={() => alerts.refetch()} />
      )}
      {alerts.data &&
        (mayChange ? <Settings key={JSON.stringify(alerts.data)} now={alerts.data} /> : <Told now={alerts.data} />)}
    </Section>
  );
}

function Told({ now }: { now: AlertSettings }) {
  if (now.low_balance === null) return <Text size="sm">Nobody is warned.</Text>;
  return (
    <Text size="sm">
      Below {formatMoney(now.low_balance)}, {now.email ?? "nobody"} gets a mail.
    </Text>
  );
}

function Settings({ now }: { now: AlertSettings }) {
  const { id } = useWallet();
  const { features, person } = useSession();
  const queries = useQueryClient();
  const [threshold, setThreshold] = useState(now.low_balance?.replace(/\.00$/, "") ?? "");
  const [email, setEmail] = useState(now.email ?? "");
  const [error, setError] = useState<string>();
  const save = useMutation({
    mutationFn: (body: AlertSettings) => api<AlertSettings>(walletPath(id, "wallet/alerts"), { method: "PUT", body }),
    onSuccess: (saved) => queries.setQueryData(alertsQuery(id).queryKey, saved),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const amount = readAmount(threshold);
    const isWrong = threshold.trim() !== "" && amount === undefined;
    setError(isWrong ? "An amount such as 2 or 0.50." : undefined);
    if (!isWrong) save.mutate({ email: email.trim() || null, low_balance: amount ?? null });
  };
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.fields}>
        <AmountInput
          label="Balance below"
          description="Empty: never"
          placeholder="2.00"
          value={threshold}
          error={error}
          onChange={setThreshold}
        />
        <TextInput
          type="email"
          label="Write to"
          description={features.mail ? "Empty: nobody" : "Kept for when mail is set up"}
          placeholder={person?.email ?? "ada@example.org"}
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
      </div>
      <Group mt="md" gap="md">
        <Button type="submit" variant="default" loading={save.isPending}>
          Save
        </Button>
        <Text size="sm" c="dimmed" role="status">
          {tellState(now)}
        </Text>
      </Group>
      <Refusal error={save.error} />
    </form>
  );
}

function tellState({ low_balance: below, email }: AlertSettings): string {
  if (below === null) return "Off: nobody is warned.";
  return email === null
    ? `Below ${formatMoney(below)} webhooks are told, and nobody by mail.`
    : `On: below ${formatMoney(below)} we write to ${email}.`;
}
