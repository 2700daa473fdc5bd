import { Button, Group, Text, TextInput } from "@mantine/core";
import type { AlertSettings } from "@pennyblack/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { alertsQuery } from "../../api/alerts.ts";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { walletPath } from "../../api/wallet.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { Section } from "../../components/page.tsx";
import { InlineError, QueryState } from "../../components/states.tsx";
import { parseAmount } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./alerts.module.css";

export function LowBalance() {
  const { id, canEdit } = useWallet();
  const { features } = useSession();
  const alerts = useQuery(alertsQuery(id));
  return (
    <Section
      title="Low balance"
      description={
        features.mail
          ? "We email you at most once an hour. Webhooks subscribed to wallet.low_balance are notified too."
          : "Email is not configured on this server. Webhooks subscribed to wallet.low_balance are still notified."
      }
    >
      <QueryState query={alerts} title="Couldn't load alert settings." rows={2} />
      {alerts.data &&
        (canEdit ? (
          <AlertForm key={JSON.stringify(alerts.data)} settings={alerts.data} />
        ) : (
          <Text size="sm">{describeAlert(alerts.data)}</Text>
        ))}
    </Section>
  );
}

function AlertForm({ settings }: { settings: AlertSettings }) {
  const { id } = useWallet();
  const { features, person } = useSession();
  const queries = useQueryClient();
  const [threshold, setThreshold] = useState(settings.low_balance?.replace(/\.00$/, "") ?? "");
  const [email, setEmail] = useState(settings.email ?? "");
  const [error, setError] = useState<string>();
  const save = useMutation({
    mutationFn: (body: AlertSettings) => api<AlertSettings>(walletPath(id, "wallet/alerts"), { method: "PUT", body }),
    onSuccess: (saved) => queries.setQueryData(alertsQuery(id).queryKey, saved),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const amount = parseAmount(threshold);
    const isInvalid = threshold.trim() !== "" && amount === undefined;
    setError(isInvalid ? "Enter an amount such as 2 or 0.50." : undefined);
    if (!isInvalid) save.mutate({ email: email.trim() || null, low_balance: amount ?? null });
  };
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.fields}>
        <AmountInput
          label="Alert below"
          description="Leave empty for no alert"
          placeholder="2.00"
          value={threshold}
          error={error}
          onChange={setThreshold}
        />
        <TextInput
          type="email"
          label="Email"
          description={features.mail ? "Leave empty for no email" : "Used once email is configured"}
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
          {describeAlert(settings)}
        </Text>
      </Group>
      <InlineError error={save.error} />
    </form>
  );
}

function describeAlert({ low_balance: threshold, email }: AlertSettings): string {
  if (threshold === null) return "Off.";
  return email === null
    ? `On. Below ${formatMoney(threshold)}, webhooks are notified and no email is sent.`
    : `On. Below ${formatMoney(threshold)}, we email ${email}.`;
}
