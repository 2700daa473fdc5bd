import { Text } from "@mantine/core";
import { Shown } from "../../parts/dialog.tsx";
import { Moment } from "../../parts/moment.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";

/** What the receiver checks our signatures with. */
export function ShowSecret({ secret, oldUntil, onClose }: { secret: string; oldUntil?: string; onClose: () => void }) {
  return (
    <Shown title="Signing secret" action="I have kept it" onClose={onClose}>
      <Text size="sm">
        This is the only time that it is shown.
        {oldUntil !== undefined && (
          <>
            {" "}
            The one before signs too and ends <Moment at={oldUntil} />, so that you can change over.
          </>
        )}
      </Text>
      <SecretOnce secret={secret} label="the signing secret">
        Give it to the program that receives the events, as a secret of its environment. With it, any library for
        Standard Webhooks tells our events from forged ones.
      </SecretOnce>
    </Shown>
  );
}
