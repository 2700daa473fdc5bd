import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { api } from "../../api/client.ts";
import { type Session, sessionQuery, useSession, type WalletMembership } from "../../api/session.ts";
import { InlineError } from "../../components/states.tsx";
import { CenteredPage } from "../../layout/centered-page.tsx";
import { readLastWallet } from "../../layout/last-wallet.ts";
import { saveMode } from "../../layout/mode.tsx";
import { Quickstart } from "./quickstart.tsx";
import { Step } from "./step.tsx";
import classes from "./welcome.module.css";

export function Welcome() {
  const session = useSession();
  const wallet = readLastWallet(session.wallets);
  if (!wallet && !session.sign_in.sign_up) return <NoAccount email={session.person?.email ?? ""} />;
  return (
    <CenteredPage title="Welcome" description="Make your first search in three steps. It's free." isWide>
      {wallet ? <WithAccount wallet={wallet} /> : <WithoutAccount />}
    </CenteredPage>
  );
}

function WithAccount({ wallet }: { wallet: WalletMembership }) {
  const navigate = useNavigate();
  return (
    <Quickstart
      walletId={wallet.id}
      canCreateKeys={wallet.role !== "viewer"}
      onContinue={(mode) => {
        saveMode(mode);
        return navigate({ to: "/w/$walletId", params: { walletId: wallet.id } });
      }}
      previousStep={
        <Step number={1} title="Name your account" isDone>
          <Text size="sm" c="dimmed">
            {wallet.account_name}. Your wallet is ready.
          </Text>
        </Step>
      }
    />
  );
}

function WithoutAccount() {
  return (
    <ol className={classes.steps}>
      <Step number={1} title="Name your account">
        <AccountForm />
      </Step>
      <Step number={2} title="Create a test key">
        <Text size="sm" c="dimmed">
          Test keys are free and return synthetic results.
        </Text>
      </Step>
      <Step number={3} title="Send your first search">
        <Text size="sm" c="dimmed">
          Copy one command with your key filled in.
        </Text>
      </Step>
    </ol>
  );
}

function AccountForm() {
  const { person } = useSession();
  const queries = useQueryClient();
  const [account, setAccount] = useState("");
  const [name, setName] = useState(person?.name ?? "");
  const create = useMutation({
    mutationFn: () =>
      api<Session>("/console/api/accounts", {
        method: "POST",
        body: { account_name: account.trim(), person_name: name.trim() },
      }),
    onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={400}>
        <TextInput
          label="Account name"
          description="Your company, project or name."
          autoComplete="organization"
          required
          withAsterisk={false}
          maxLength={100}
          value={account}
          onChange={(event) => setAccount(event.currentTarget.value)}
        />
        <TextInput
          label="Your name"
          autoComplete="name"
          required
          withAsterisk={false}
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Button type="submit" loading={create.isPending} style={{ alignSelf: "flex-start" }}>
          Create account
        </Button>
        <InlineError error={create.error} />
      </Stack>
    </form>
  );
}

function NoAccount({ email }: { email: string }) {
  const signOut = useMutation({
    mutationFn: () => api("/console/api/sign-out", { method: "POST" }),
    onSuccess: () => window.location.assign("/console/"),
  });
  return (
    <CenteredPage
      title="No account yet"
      description={`You're signed in as ${email}, but you don't belong to an account.`}
    >
      <Text>Ask an account owner to invite you, or ask the operator to create an account.</Text>
      <Button variant="default" onClick={() => signOut.mutate()} loading={signOut.isPending}>
        Sign out
      </Button>
      <InlineError error={signOut.error} />
    </CenteredPage>
  );
}
