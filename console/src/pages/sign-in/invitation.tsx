import { Anchor, Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, useSession } from "../../api/session.ts";
import { InlineError } from "../../components/states.tsx";
import { CenteredPage } from "../../layout/centered-page.tsx";
import { useLink } from "./use-link.ts";
import { useStartSession } from "./use-start-session.ts";

export function Invitation() {
  const link = useLink();
  return link ? <AcceptInvitation token={link.token} /> : <InvalidInvitation />;
}

function AcceptInvitation({ token }: { token: string }) {
  const { person } = useSession();
  const startSession = useStartSession();
  const [name, setName] = useState(person?.name ?? "");
  const accept = useMutation({
    mutationFn: () =>
      api<Session>("/console/api/invitations/accept", { method: "POST", body: { token, name: name.trim() } }),
    onSuccess: (session) => startSession(session, undefined),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    accept.mutate();
  };
  if (accept.error instanceof ApiProblem && accept.error.code === "link_not_valid") return <InvalidInvitation />;
  return (
    <CenteredPage title="Join an account" description="You've been invited to join an account.">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Your name"
            description="Visible to other members of the account."
            autoComplete="name"
            size="md"
            required
            withAsterisk={false}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" size="md" loading={accept.isPending}>
            Join account
          </Button>
          {person && (
            <Text size="sm" c="dimmed">
              You're signed in as {person.email}. The invitation is for the address it was sent to.
            </Text>
          )}
          <InlineError error={accept.error} />
        </Stack>
      </form>
    </CenteredPage>
  );
}

function InvalidInvitation() {
  return (
    <CenteredPage
      title="Invitation not valid"
      description="This invitation has expired, was revoked or was already used. Ask for a new one."
    >
      <Anchor component={Link} to="/">
        Go to console
      </Anchor>
    </CenteredPage>
  );
}
