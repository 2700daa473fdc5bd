import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Code } from "./code.tsx";

/** A secret that is shown this once, and where to keep it. */
export function SecretOnce({ secret, label, children }: { secret: string; label: string; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <Code text={secret} label={label} />
      <Text size="sm" c="dimmed">
        {children}
      </Text>
    </Stack>
  );
}
