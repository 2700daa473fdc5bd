import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, whenConfirmationIsNeeded } from "../api/client.ts";
import { type Session, sessionQuery, useSession } from "../api/session.ts";
import { Refusal } from "../parts/states.tsx";

/**
 * Before keys are made or people let in, the server wants a sign-in of the last minutes: a stolen cookie is not enough.
 * The page that asked waits here, and goes on where it was.
 */
export function ConfirmPerson() {
  const session = useSession();
  const queries = useQueryClient();
  const [isOpen, setIsOpen] = useState(false);
  const [isSent, setIsSent] = useState(false);
  const [error, setError] = useState<unknown>();
  const decide = useRef<(isConfirmed: boolean) => void>(undefined);

  useEffect(() => {
    whenConfirmationIsNeeded(
      () =>
        new Promise((resolve) => {
          decide.current = resolve;
          setIsSent(false);
          setError(undefined);
          setIsOpen(true);
        }),
    );
  }, []);

  const end = (isConfirmed: boolean): void => {
    setIsOpen(false);
    decide.current?.(isConfirmed);
  };

  // The link opens in another tab of this browser; this one sees that the session has become fresh.
  useEffect(() => {
    if (!isOpen || !isSent) return undefined;
    const look = async (): Promise<void> => {
      const now = await queries.query({ ...sessionQuery, staleTime: 0 }).catch(() => undefined);
      if (isFresh(now)) end(true);
    };
    const timer = setInterval(() => void look().catch(() => undefined), 1_500);
    return () => clearInterval(timer);
  });

  const sendMail = async (): Promise<void> => {
    setError(undefined);
    try {
      const email = session.person?.email;
      await api("/console/api/sign-in/email", { method: "POST", body: { email, return_to: "/console/confirmed" } });
      setIsSent(true);
    } catch (failure) {
      setError(failure);
    }
  };

  return (
    <Modal opened={isOpen} onClose={() => end(false)} title="Confirm that it is you" centered>
      <Stack>
        <Text size="sm">
          Making keys and letting people in needs a sign-in of the last few minutes, so that a stolen session cannot do
          it.
        </Text>
        {isSent ? (
          <Text size="sm" role="status">
            We sent a link to {session.person?.email}. Open it in this browser; this page goes on by itself.
          </Text>
        ) : (
          <Group>
            {session.sign_in.email && <Button onClick={() => sendMail()}>Send me a link</Button>}
            {session.sign_in.oidc && (
              <Button
                component="a"
                target="_blank"
                variant="default"
                href="/console/api/sign-in/oidc?fresh=1&return_to=/console/confirmed"
                onClick={() => setIsSent(true)}
              >
                Sign in with {session.sign_in.oidc.name}
              </Button>
            )}
          </Group>
        )}
        <Refusal error={error} />
      </Stack>
    </Modal>
  );
}

function isFresh(session: Session | undefined): boolean {
  return Date.parse(session?.fresh_until ?? "") > Date.now();
}
