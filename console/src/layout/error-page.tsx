import { Stack } from "@mantine/core";
import type { ErrorComponentProps } from "@tanstack/react-router";
import { Failure } from "../parts/states.tsx";

export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <Stack p="xl" maw={720} mx="auto" mt="xl" component="main">
      <Failure error={error} what="This page could not be shown." retry={reset} />
    </Stack>
  );
}
