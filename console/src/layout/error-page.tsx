import { Anchor, Stack } from "@mantine/core";
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { useContext } from "react";
import { Page } from "../components/page.tsx";
import { ErrorState } from "../components/states.tsx";
import { WalletContext } from "./use-wallet.ts";

/** Replaces a page that failed. The navigation around it stays. */
export function ErrorPage({ error, reset }: ErrorComponentProps) {
  const wallet = useContext(WalletContext);
  const state = <ErrorState error={error} title="Couldn't display this page." onRetry={reset} />;
  if (wallet) return <Page title="Something went wrong">{state}</Page>;
  return (
    <Stack p="xl" maw={720} mx="auto" mt="xl" component="main">
      {state}
      <Anchor component={Link} to="/">
        Go to console
      </Anchor>
    </Stack>
  );
}
