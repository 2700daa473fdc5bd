import { Text } from "@mantine/core";
import { ResultDialog } from "../../components/dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";

export function SigningSecretDialog({
  secret,
  previousUntil,
  onClose,
}: {
  secret: string;
  previousUntil?: string;
  onClose: () => void;
}) {
  return (
    <ResultDialog title="Signing secret" action="I've saved it" onClose={onClose}>
      <Text size="sm">
        This secret is shown only once.
        {previousUntil !== undefined && (
          <>
            {" "}
            The previous one also signs events and expires <RelativeTime at={previousUntil} />.
          </>
        )}
      </Text>
      <OneTimeSecret secret={secret} label="signing secret">
        Store it as a secret in the environment of the program that receives the events. Any Standard Webhooks library
        can verify our signatures with it.
      </OneTimeSecret>
    </ResultDialog>
  );
}
