import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { api } from "../../api/client.ts";
import { type Session, sessionQuery, useSession, type WalletOfPerson } from "../../api/session.ts";
import { lastWallet } from "../../frame/last-wallet.ts";
import { rememberMode } from "../../frame/mode.tsx";
import { Sheet } from "../../frame/sheet.tsx";
import { Refusal } from "../../parts/states.tsx";
import { Quickstart } from "./quickstart.tsx";
import { Step } from "./step.tsx";
import classes from "./welcome.module.css";

/** The first run: an account, a test key, a search. */
export function Welcome() {
  const session = useSession();
  const wallet = lastWallet(session.wallets);
  if (!wallet && !session.sign_in.sign_up) return <NoAccount email={session.person?.email ?? ""} />;
  return (
    <Sheet title="Welcome" about="Three steps to your first search. None of them costs anything." isWide>
      {wallet ? <Begun wallet={wallet} /> : <Unbegun />}
    </Sheet>
  );
}

function Begun({ wallet }: { wallet: WalletOfPerson }) {
  const navigate = useNavigate();
  return (
    <Quickstart
      walletId={wallet.id}
      mayMakeKeys={wallet.role !== "viewer"}
      go={(mode) => {
        rememberMode(mode);
        return navigate({ to: "/w/$walletId", params: { walletId: wallet.id } });
      }}
      before={
        <Step number={1} title="Name your account" isDone>
          <Text size="sm" c="dimmed">
            {wallet.account_name}. Its wallet is ready.
          </Text>
        </Step>
      }
    />
  );
}

function Unbegun() {
  return (
    <ol className={classes.steps}>
      <Step number={1} title="Name your account">
        <AccountForm />
      </Step>
      <Step number={2} title="Make a test key">
        <Text size="sm" c="dimmed">
          It runs the whole service with made-up results.
        </Text>
      </Step>
      <Step number={3} title="Send your first search">
        <Text size="sm" c="dimmed">
          One command to paste, with your key filled in.
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
  const open = useMutation({
    mutationFn: () =>
      api<Session>("/console/api/accounts", {
        method: "POST",
        body: { account_name: account.trim(), person_name: name.trim() },
      }),
    onSuccess: (session) => queries.setQueryData(sessionQuery.queryKey, session),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    open.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={400}>
        <TextInput
          label="Account"
          description="Your company, your project, or your own name."
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
        <Button type="submit" loading={open.isPending} style={{ alignSelf: "flex-start" }}>
          Open the account
        </Button>
        <Refusal error={open.error} />
      </Stack>
    </form>
  );
}

/** Signed in, and nobody has let them into an account yet. */
function NoAccount({ email }: { email: string }) {
  const signOut = useMutation({
    mutationFn: () => api("/console/api/sign-out", { method: "POST" }),
    onSuccess: () => window.location.assign("/console/"),
  });
  return (
    <Sheet title="No account yet" about={`You are signed in as ${email}, and belong to no account.`}>
      <Text>Ask the owner of an account to invite you, or the operator to open one for you.</Text>
      <Button variant="default" onClick={() => signOut.mutate()} loading={signOut.isPending}>
        Sign out
      </Button>
      <Refusal error={signOut.error} />
    </Sheet>
  );
}
