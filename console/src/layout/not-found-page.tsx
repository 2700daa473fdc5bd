import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

export function NotFoundPage() {
  return (
    <Stack p="xl" maw={560} mx="auto" mt="xl" component="main">
      <Title order={1}>Not found</Title>
      <Text>This page does not exist, or it belongs to a wallet you are not a member of.</Text>
      <Anchor component={Link} to="/">
        Go to your wallet
      </Anchor>
    </Stack>
  );
}
