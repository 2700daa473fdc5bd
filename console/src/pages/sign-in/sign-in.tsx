import { Anchor, Button, Divider, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, sessionQuery, useSession } from "../../api/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { InlineError, RowsSkeleton } from "../../components/states.tsx";
import { CenteredPage } from "../../layout/centered-page.tsx";
import { safeReturnTo } from "./return-to.ts";
import { useLink } from "./use-link.ts";
import { useStartSession } from "./use-start-session.ts";

export function SignIn() {
  const link = useLink();
  return link ? <SignInWithLink key={link.token} token={link.token} returnTo={link.returnTo} /> : <SignInForm />;
}

function SignInWithLink({ token, returnTo }: { token: string; returnTo: string | undefined }) {
  const startSession = useStartSession();
  const isSent = useRef(false);
  const { mutate, error } = useMutation({
    mutationFn: () => api<Session>("/console/api/sign-in/token", { method: "POST", body: { token } }),
    onSuccess: (session) => startSession(session, returnTo),
  });
  useEffect(() => {
    // A link works once, so it must be sent once even when effects run twice (StrictMode).
    if (isSent.current) return;
    isSent.current = true;
    mutate();
  }, [mutate]);

  if (!error) {
    return (
      <CenteredPage title="Signing in">
        <RowsSkeleton rows={2} />
      </CenteredPage>
    );
  }
  const isExpired = error instanceof ApiProblem && error.code === "link_not_valid";
  return (
    <CenteredPage
      title={isExpired ? "Link not valid" : "Sign-in failed"}
      description={isExpired ? "This sign-in link has expired or was already used. Request a new one." : undefined}
    >
      {!isExpired && <InlineError error={error} />}
      {!isExpired && (
        <Button variant="default" onClick={() => mutate()}>
          Try again
        </Button>
      )}
      <SignInMethods returnTo={returnTo} />
    </CenteredPage>
  );
}

function SignInForm() {
  const session = useSession();
  const startSession = useStartSession();
  const { return_to: returnTo } = useSearch({ from: "/sign-in" });
  const isSignedIn = session.person !== null;
  useEffect(() => {
    if (isSignedIn) startSession(session, returnTo);
  }, [isSignedIn, session, startSession, returnTo]);
  return (
    <CenteredPage title="Sign in" description="One cent a search, charged only when it works.">
      <SignInMethods returnTo={returnTo} />
    </CenteredPage>
  );
}

function SignInMethods({ returnTo }: { returnTo: string | undefined }) {
  const { email, oidc } = useSession().sign_in;
  if (!email && !oidc) return <OperatorInstructions />;
  return (
    <Stack gap="lg">
      {email && <EmailForm returnTo={returnTo} />}
      {email && oidc && <Divider label="or" />}
      {oidc && (
        <Button
          component="a"
          variant={email ? "default" : "filled"}
          size="md"
          href={`/console/api/sign-in/oidc?return_to=${encodeURIComponent(safeReturnTo(returnTo))}`}
        >
          Sign in with {oidc.name}
        </Button>
      )}
    </Stack>
  );
}

/** For servers without email or an OpenID Connect provider. */
function OperatorInstructions() {
  return (
    <Stack gap="sm">
      <Text>
        Email and single sign-on are not configured on this server. Ask the operator to create a sign-in link:
      </Text>
      <CodeBlock text="npm run admin -- console sign-in-link --email you@example.org" label="command" isWrapped />
    </Stack>
  );
}

function EmailForm({ returnTo }: { returnTo: string | undefined }) {
  const { sign_up: isSignUpOpen } = useSession().sign_in;
  const [email, setEmail] = useState("");
  const sendLink = useMutation({
    mutationFn: (address: string) =>
      api("/console/api/sign-in/email", {
        method: "POST",
        body: { email: address, return_to: safeReturnTo(returnTo) },
      }),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    sendLink.mutate(email.trim());
  };
  if (sendLink.isSuccess) return <LinkSent email={sendLink.variables} onRestart={() => sendLink.reset()} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Email"
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
        <Button type="submit" size="md" loading={sendLink.isPending}>
          Email me a link
        </Button>
        <Text size="sm" c="dimmed">
          {isSignUpOpen
            ? "No password needed. If you're new, the link creates your account."
            : "No password needed. To get an account, ask for an invitation or contact the operator."}
        </Text>
        <InlineError error={sendLink.error} />
      </Stack>
    </form>
  );
}

/** The same for every address, so that it does not reveal who has an account. */
function LinkSent({ email, onRestart }: { email: string; onRestart: () => void }) {
  // The link opens in another tab. Poll until the session exists.
  useQuery({ ...sessionQuery, refetchInterval: 3_000 });
  return (
    <Stack role="status" gap="xs">
      <Text>
        If <strong>{email}</strong> can sign in, a link is on its way.
      </Text>
      <Text c="dimmed">
        The link works once and expires in 15 minutes. Open it in this browser, and this page continues automatically.
        If you don't see it, check your spam folder.
      </Text>
      <Anchor component="button" type="button" size="sm" onClick={onRestart} ta="left">
        Use a different address
      </Anchor>
    </Stack>
  );
}
