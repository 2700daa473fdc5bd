import { Anchor, Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem, api } from "../../api/client.ts";
import { type Session, useSession } from "../../api/session.ts";
import { Sheet } from "../../frame/sheet.tsx";
import { Refusal } from "../../parts/states.tsx";
import { useEnter } from "./use-enter.ts";
import { useLink } from "./use-link.ts";

/** Someone was invited to an account, and followed the link of the mail. */
export function Invitation() {
  const link = useLink();
  return link ? <Accept token={link.token} /> : <Over />;
}

function Accept({ token }: { token: string }) {
  const { person } = useSession();
  const enter = useEnter();
  const [name, setName] = useState(person?.name ?? "");
  const accept = useMutation({
    mutationFn: () =>
      api<Session>("/console/api/invitations/accept", { method: "POST", body: { token, name: name.trim() } }),
    onSuccess: (session) => enter(session, undefined),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    accept.mutate();
  };
  if (accept.error instanceof ApiProblem && accept.error.code === "link_not_valid") return <Over />;
  return (
    <Sheet title="You are invited" about="Someone wants you to see and use their account with them.">
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Your name"
            description="The others in the account see it."
            autoComplete="name"
            size="md"
            required
            withAsterisk={false}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" size="md" loading={accept.isPending}>
            Join the account
          </Button>
          {person && (
            <Text size="sm" c="dimmed">
              You are signed in as {person.email}. The invitation counts for the address that it was sent to.
            </Text>
          )}
          <Refusal error={accept.error} />
        </Stack>
      </form>
    </Sheet>
  );
}

function Over() {
  return (
    <Sheet
      title="This invitation no longer works"
      about="An invitation works once, for 7 days, and can be taken back. Ask for a new one."
    >
      <Anchor component={Link} to="/">
        Go to the console
      </Anchor>
    </Sheet>
  );
}
