import { Stack } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "../components/states.tsx";

export function ErrorPage({ error, reset }: ErrorComponentProps) {
  return (
    <Stack p="xl" maw={720} mx="auto" mt="xl" component="main">
      <ErrorState error={error} title="Couldn't display this page." onRetry={reset} />
    </Stack>
  );
}
