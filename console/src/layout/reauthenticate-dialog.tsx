import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, whenConfirmationIsNeeded } from "../api/client.ts";
import { sessionQuery, useSession } from "../api/session.ts";
import { Refusal } from "../parts/states.tsx";

/**
 * Before keys are made or people let in, the server wants a sign-in of the last minutes: a stolen cookie is not enough.
 * The page that asked waits here, and goes on where it was.
 */
export function ConfirmPerson() {
  const [isOpen, setIsOpen] = useState(false);
  const decide = useRef<(isConfirmed: boolean) => void>(undefined);
  useEffect(() => {
    whenConfirmationIsNeeded(
      () =>
        new Promise((resolve) => {
          decide.current = resolve;
          setIsOpen(true);
        }),
    );
  }, []);
  const end = (isConfirmed: boolean): void => {
    setIsOpen(false);
    decide.current?.(isConfirmed);
  };
  return (
    // Above whatever dialog asked.
    <Modal opened={isOpen} onClose={() => end(false)} title="Confirm that it is you" centered zIndex={400}>
      <Question onConfirmed={() => end(true)} />
    </Modal>
  );
}

function Question({ onConfirmed }: { onConfirmed: () => void }) {
  const { person, sign_in: ways } = useSession();
  // The link opens in another tab of this browser; this one sees that the session has become fresh.
  const { data } = useQuery({ ...sessionQuery, refetchInterval: 1_500, refetchIntervalInBackground: true });
  const isFresh = Date.parse(data?.fresh_until ?? "") > Date.now();
  useEffect(() => {
    if (isFresh) onConfirmed();
  }, [isFresh, onConfirmed]);

  const mail = useMutation({
    mutationFn: () =>
      api("/console/api/sign-in/email", {
        method: "POST",
        body: { email: person?.email, return_to: "/console/confirmed" },
      }),
  });
  return (
    <Stack>
      <Text size="sm">
        Making keys and letting people in needs a sign-in of the last few minutes, so that a stolen session cannot do
        it.
      </Text>
      {mail.isSuccess ? (
        <Text size="sm" role="status">
          We sent a link to {person?.email}. Open it in this browser; this page goes on by itself.
        </Text>
      ) : (
        <Group>
          {ways.email && (
            <Button onClick={() => mail.mutate()} loading={mail.isPending}>
              Send me a link
            </Button>
          )}
          {ways.oidc && (
            <Button
              component="a"
              target="_blank"
              variant="default"
              href="/console/api/sign-in/oidc?fresh=1&return_to=/console/confirmed"
            >
              Sign in with {ways.oidc.name}
            </Button>
          )}
        </Group>
      )}
      {!ways.email && !ways.oidc && (
        <Text size="sm">Ask the operator for a link, and open it in this browser. This page goes on by itself.</Text>
      )}
      <Refusal error={mail.error} />
    </Stack>
  );
}
