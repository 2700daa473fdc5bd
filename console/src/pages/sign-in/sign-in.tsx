import { Anchor, Button, Divider, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, sessionQuery, useSession } from "../../api/session.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { InlineError } from "../../components/states.tsx";
import { CenteredPage } from "../../layout/centered-page.tsx";
import type { Link } from "./parse-link.ts";
import { safeReturnTo } from "./return-to.ts";
import { useLink } from "./use-link.ts";
import { useStartSession } from "./use-start-session.ts";

export function SignIn() {
  const link = useLink();
  return link ? <SignInWithLink key={link.token} link={link} /> : <SignInForm />;
}

/**
 * Signs in only when the button is pressed. Mail scanners open links and would use this one up, and another site could
 * open its own link to sign the visitor in to a different account.
 */
function SignInWithLink({ link: { token, email, returnTo } }: { link: Link }) {
  const { person } = useSession();
  const startSession = useStartSession();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => api<Session>("/console/api/sign-in/token", { method: "POST", body: { token } }),
    onSuccess: (session) => startSession(session, returnTo),
  });
  if (error instanceof ApiProblem && error.code === "link_not_valid") {
    return (
      <CenteredPage
        title="Link not valid"
        description="This sign-in link has expired or was already used. Request a new one."
      >
        <SignInMethods returnTo={returnTo} />
      </CenteredPage>
    );
  }
  const isOther = person !== null && person.email !== email;
  return (
    <CenteredPage title="Confirm sign-in" description="If you didn't request this link, close this page.">
      <Stack>
        {email !== undefined && (
          <Text style={{ overflowWrap: "anywhere" }}>
            This link signs you in as <strong>{email}</strong>.
          </Text>
        )}
        {isOther && (
          <Text style={{ overflowWrap: "anywhere" }}>
            You're signed in as {person.email}. Continuing ends that session.
          </Text>
        )}
        <Button size="md" loading={isPending} onClick={() => mutate()}>
          Sign in
        </Button>
        <InlineError error={error} />
      </Stack>
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
    <CenteredPage
      title="Sign in"
      description={
        returnTo?.startsWith("/console/invitations/")
          ? "To accept the invitation, sign in with the address that was invited."
          : "One cent a search, charged only when it works."
      }
    >
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
  // The link opens in another tab. Poll until the session exists.
  useQuery({ ...sessionQuery, refetchInterval: 3_000 });
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
