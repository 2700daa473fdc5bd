import { Anchor, Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, useSession } from "../../api/session.ts";
import { invitationQuery } from "../../api/team.ts";
import { InlineError, QueryState } from "../../components/states.tsx";
import { CenteredPage } from "../../layout/centered-page.tsx";
import { useLink } from "./use-link.ts";
import { useStartSession } from "./use-start-session.ts";

/** An emailed invitation. Its token also signs in. */
export function Invitation() {
  const link = useLink();
  if (!link) return <InvalidInvitation />;
  return (
    <JoinPage
      title="Join an account"
      description="You've been invited to join an account."
      accept={(name) =>
        api<Session>("/console/api/invitations/accept", { method: "POST", body: { token: link.token, name } })
      }
    />
  );
}

/** An invitation link that an owner passed on. It works only for a person who has signed in with the invited address. */
export function OwnInvitation() {
  const { id } = useParams({ from: "/signed-in/invitations/$id" });
  const invitation = useQuery(invitationQuery(id));
  if (isInvalid(invitation.error)) return <InvalidInvitation />;
  if (!invitation.data) {
    return (
      <CenteredPage title="Join an account">
        <QueryState query={invitation} title="Couldn't load the invitation." rows={2} />
      </CenteredPage>
    );
  }
  const { account_name: account, role } = invitation.data;
  return (
    <JoinPage
      title={`Join ${account}`}
      description={`You've been invited to join ${account} as ${role === "owner" ? "an owner" : `a ${role}`}.`}
      accept={(name) => api<Session>(`/console/api/invitations/${id}/accept`, { method: "POST", body: { name } })}
    />
  );
}

function JoinPage(props: { title: string; description: string; accept: (name: string) => Promise<Session> }) {
  const { title, description, accept } = props;
  const { person } = useSession();
  const startSession = useStartSession();
  const [name, setName] = useState(person?.name ?? "");
  const join = useMutation({
    mutationFn: () => accept(name.trim()),
    onSuccess: (session) => startSession(session, undefined),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    join.mutate();
  };
  if (isInvalid(join.error)) return <InvalidInvitation />;
  return (
    <CenteredPage title={title} description={description}>
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
          <Button type="submit" size="md" loading={join.isPending}>
            Join account
          </Button>
          {person && (
            <Text size="sm" c="dimmed">
              You're signed in as {person.email}.
            </Text>
          )}
          <InlineError error={join.error} />
        </Stack>
      </form>
    </CenteredPage>
  );
}

function isInvalid(error: unknown): boolean {
  return error instanceof ApiProblem && error.code === "link_not_valid";
}

function InvalidInvitation() {
  const { person } = useSession();
  return (
    <CenteredPage
      title="Invitation not valid"
      description="This invitation has expired, was revoked or was already used, or it is for another address."
    >
      <Text>
        {person ? `You're signed in as ${person.email}. ` : ""}
        Ask an owner of the account to invite the address that you sign in with.
      </Text>
      <Anchor component={Link} to="/">
        Go to console
      </Anchor>
    </CenteredPage>
  );
}
