import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";
import classes from "./one-time-secret.module.css";

/** A secret that is shown only once. The children explain how to store it. */
export function OneTimeSecret({ secret, label, children }: { secret: string; label: string; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <div className={classes.secret}>
        <code className={`mono ${classes.text ?? ""}`}>{secret}</code>
        <CopyButton text={secret} aria-label={`Copy ${label}`} />
      </div>
      <Text size="sm" c="dimmed">
        {children}
      </Text>
    </Stack>
  );
}
