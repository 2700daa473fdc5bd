import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api, setReauthenticate } from "../api/client.ts";
import { sessionQuery, useSession } from "../api/session.ts";
import { InlineError } from "../components/states.tsx";

/**
 * The server requires a recent sign-in to create keys or invite people, so that a stolen cookie is not enough. The
 * request waits for this dialog and is then retried.
 */
export function ReauthenticateDialog() {
  const [isOpen, setIsOpen] = useState(false);
  const resolveRef = useRef<(isConfirmed: boolean) => void>(undefined);
  useEffect(() => {
    setReauthenticate(
      () =>
        new Promise((resolve) => {
          resolveRef.current = resolve;
          setIsOpen(true);
        }),
    );
  }, []);
  const close = (isConfirmed: boolean): void => {
    setIsOpen(false);
    resolveRef.current?.(isConfirmed);
  };
  return (
    // Above the dialog that sent the request.
    <Modal opened={isOpen} onClose={() => close(false)} title="Confirm your identity" centered zIndex={400}>
      <SignInAgain onConfirmed={() => close(true)} />
    </Modal>
  );
}

function SignInAgain({ onConfirmed }: { onConfirmed: () => void }) {
  const { person, sign_in: signIn } = useSession();
  // The link opens in another tab. Poll until the shared session is fresh.
  const { data } = useQuery({ ...sessionQuery, refetchInterval: 1_500, refetchIntervalInBackground: true });
  const isFresh = Date.parse(data?.fresh_until ?? "") > Date.now();
  useEffect(() => {
    if (isFresh) onConfirmed();
  }, [isFresh, onConfirmed]);

  const sendLink = useMutation({
    mutationFn: () =>
      api("/console/api/sign-in/email", {
        method: "POST",
        body: { email: person?.email, return_to: "/console/confirmed" },
      }),
  });
  return (
    <Stack>
      <Text size="sm">
        This action requires a recent sign-in, which protects your account if a session is stolen. Sign in again to
        continue.
      </Text>
      {sendLink.isSuccess ? (
        <Text size="sm" role="status">
          We sent a link to {person?.email}. Open it in this browser. This page continues automatically.
        </Text>
      ) : (
        <Group>
          {signIn.email && (
            <Button onClick={() => sendLink.mutate()} loading={sendLink.isPending}>
              Email me a link
            </Button>
          )}
          {signIn.oidc && (
            <Button
              component="a"
              target="_blank"
              variant="default"
              href="/console/api/sign-in/oidc?fresh=1&return_to=/console/confirmed"
            >
              Sign in with {signIn.oidc.name}
            </Button>
          )}
        </Group>
      )}
      {!signIn.email && !signIn.oidc && (
        <Text size="sm">
          Ask your operator for a sign-in link and open it in this browser. This page continues automatically.
        </Text>
      )}
      <InlineError error={sendLink.error} />
    </Stack>
  );
}
