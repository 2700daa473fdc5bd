import { Anchor, Button, Divider, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, sessionQuery, useSession } from "../../api/session.ts";
import { Sheet } from "../../frame/sheet.tsx";
import { Code } from "../../parts/code.tsx";
import { Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { readReturnTo } from "./return-to.ts";
import { useEnter } from "./use-enter.ts";
import { useLink } from "./use-link.ts";

export function SignIn() {
  const link = useLink();
  return link ? <ByLink key={link.token} token={link.token} returnTo={link.returnTo} /> : <ByHand />;
}

/** Someone followed the link of a mail. */
function ByLink({ token, returnTo }: { token: string; returnTo: string | undefined }) {
  const enter = useEnter();
  const isSent = useRef(false);
  const { mutate, error } = useMutation({
    mutationFn: () => api<Session>("/console/api/sign-in/token", { method: "POST", body: { token } }),
    onSuccess: (session) => enter(session, returnTo),
  });
  useEffect(() => {
    // A link works once: it must not be sent twice, even where effects run twice.
    if (isSent.current) return;
    isSent.current = true;
    mutate();
  }, [mutate]);

  if (!error) {
    return (
      <Sheet title="Signing you in">
        <RowsSkeleton rows={2} />
      </Sheet>
    );
  }
  const isOver = error instanceof ApiProblem && error.code === "link_not_valid";
  return (
    <Sheet
      title={isOver ? "This link no longer works" : "That did not work"}
      about={
        isOver
          ? "A link to sign in works once, for 15 minutes. This one was used or is too old. Ask for a new one."
          : undefined
      }
    >
      {!isOver && <Refusal error={error} />}
      {!isOver && (
        <Button variant="default" onClick={() => mutate()}>
          Try again
        </Button>
      )}
      <Ways returnTo={returnTo} />
    </Sheet>
  );
}

function ByHand() {
  const session = useSession();
  const enter = useEnter();
  const { return_to: returnTo } = useSearch({ from: "/sign-in" });
  const isSignedIn = session.person !== null;
  useEffect(() => {
    if (isSignedIn) enter(session, returnTo);
  }, [isSignedIn, session, enter, returnTo]);
  return (
    <Sheet title="Sign in" about="One cent a search, charged only when it works.">
      <Ways returnTo={returnTo} />
    </Sheet>
  );
}

/** How a person can sign in here. */
function Ways({ returnTo }: { returnTo: string | undefined }) {
  const { email, oidc } = useSession().sign_in;
  if (!email && !oidc) return <AskOperator />;
  return (
    <Stack gap="lg">
      {email && <MailForm returnTo={returnTo} />}
      {email && oidc && <Divider label="or" />}
      {oidc && (
        <Button
          component="a"
          variant={email ? "default" : "filled"}
          size="md"
          href={`/console/api/sign-in/oidc?return_to=${encodeURIComponent(readReturnTo(returnTo))}`}
        >
          Sign in with {oidc.name}
        </Button>
      )}
    </Stack>
  );
}

/** Neither mail nor a provider is set up. */
function AskOperator() {
  return (
    <Stack gap="sm">
      <Text>This installation sends no mail and knows no sign-in provider, so its operator makes the link:</Text>
      <Code text="npm run admin -- console sign-in-link --email you@example.org" label="the command" isWrapped />
    </Stack>
  );
}

function MailForm({ returnTo }: { returnTo: string | undefined }) {
  const { sign_up: mayJoin } = useSession().sign_in;
  const [email, setEmail] = useState("");
  const ask = useMutation({
    mutationFn: (address: string) =>
      api("/console/api/sign-in/email", {
        method: "POST",
        body: { email: address, return_to: readReturnTo(returnTo) },
      }),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    ask.mutate(email.trim());
  };
  if (ask.isSuccess) return <Sent email={ask.variables} again={() => ask.reset()} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="E-mail"
          type="email"
          name="email"
          autoComplete="email"
          size="md"
          required
          withAsterisk={false}
          data-autofocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Button type="submit" size="md" loading={ask.isPending}>
          Send me a link
        </Button>
        <Text size="sm" c="dimmed">
          {mayJoin
            ? "No password. If you are new here, the same link opens your account."
            : "No password. Accounts are opened by the operator, or by an invitation."}
        </Text>
        <Refusal error={ask.error} />
      </Stack>
    </form>
  );
}

/** The same words for every address: who may sign in is nobody else's business. */
function Sent({ email, again }: { email: string; again: () => void }) {
  // The link opens in another tab; this one notices, and goes on.
  useQuery({ ...sessionQuery, refetchInterval: 3_000 });
  return (
    <Stack role="status" gap="xs">
      <Text>
        If <strong>{email}</strong> may sign in, a link is on its way.
      </Text>
      <Text c="dimmed">
        It works once, for 15 minutes. Open it in this browser; this page goes on by itself. Nothing there? Look in the
        spam folder.
      </Text>
      <Anchor component="button" type="button" size="sm" onClick={again} ta="left">
        Use another address
      </Anchor>
    </Stack>
  );
}
