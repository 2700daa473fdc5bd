import { Anchor, Button, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { type AppList, appsQuery } from "../../api/apps.ts";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { walletPath } from "../../api/wallet.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { McpSetup } from "../../components/mcp-setup.tsx";
import { Section } from "../../components/page.tsx";
import { InlineError } from "../../components/states.tsx";
import { parseAmount } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./apps.module.css";

export function ConnectApps({ list }: { list: AppList }) {
  const { canEdit } = useWallet();
  const { sign_in: signIn, public_url: publicUrl } = useSession();
  return (
    <>
      {signIn.oidc && (
        <Section
          title="Your apps"
          description={`Apps you sign in to with ${signIn.oidc.name} spend from the wallet where you turn this on.`}
        >
          {!list.has_identity && <LinkIdentity provider={signIn.oidc.name} />}
          {canEdit ? (
            <SettingsForm key={JSON.stringify(list.settings)} settings={list.settings} />
          ) : (
            <Text size="sm">You have view-only access. An owner or developer can connect apps.</Text>
          )}
        </Section>
      )}
      <Section
        title="Connect an app"
        description={
          signIn.oidc
            ? "Add the server to the app, then sign in when it asks you to."
            : "Add the server to the app, with an API key that has a daily budget."
        }
      >
        <McpSetup server={{ url: publicUrl, key: signIn.oidc ? undefined : "pb_live_..." }} />
        <Text size="sm" mt="sm">
          <Anchor href="/docs/mcp">More apps and agent frameworks</Anchor>
        </Text>
      </Section>
    </>
  );
}

function LinkIdentity({ provider }: { provider: string }) {
  const { id } = useWallet();
  return (
    <Text size="sm" mb="md">
      <Anchor href={`/console/api/sign-in/oidc?return_to=/console/w/${id}/apps`}>Sign in with {provider}</Anchor> once,
      so that apps you sign in to are recognized as yours.
    </Text>
  );
}

const defaultDay = "1.00";

function SettingsForm({ settings }: Pick<AppList, "settings">) {
  const { id } = useWallet();
  const queries = useQueryClient();
  const isOn = settings?.wallet_id === id;
  const [day, setDay] = useState(settings?.budget.day ?? defaultDay);
  const [error, setError] = useState<string>();
  const save = useMutation({
    mutationFn: (amount: string | undefined) =>
      amount === undefined
        ? api(walletPath(id, "apps"), { method: "DELETE" })
        : api(walletPath(id, "apps"), { method: "PUT", body: { budget: { day: amount } } }),
    onSuccess: () => queries.invalidateQueries(appsQuery(id)),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const amount = parseAmount(day);
    setError(amount === undefined ? "Enter an amount such as 1 or 0.50." : undefined);
    if (amount !== undefined) save.mutate(amount);
  };
  return (
    <form onSubmit={submit} noValidate>
      <AmountInput
        className={classes.amount}
        label="Daily budget of your apps"
        value={day}
        error={error}
        onChange={setDay}
      />
      <Group mt="md" gap="md">
        <Button type="submit" variant="default" loading={save.isPending}>
          {isOn ? "Save" : "Turn on for this wallet"}
        </Button>
        {isOn && (
          <Button variant="subtle" color="ink" disabled={save.isPending} onClick={() => save.mutate(undefined)}>
            Turn off
          </Button>
        )}
        <Text size="sm" c="dimmed" role="status">
          {describeSettings(settings, isOn)}
        </Text>
      </Group>
      <InlineError error={save.error} />
    </form>
  );
}

function describeSettings(settings: AppList["settings"], isOn: boolean): string {
  if (!settings) return "Off. Your apps cannot spend until you turn this on.";
  const { day } = settings.budget;
  return isOn
    ? `On. Each new app you connect can spend ${formatMoney(day)} per day from this wallet. Turning this off does not disconnect apps.`
    : "Your new apps spend from another wallet. Turn this on to use this one instead.";
}
