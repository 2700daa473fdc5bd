import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

export function Missing() {
  return (
    <Stack p="xl" maw={560} mx="auto" mt="xl" component="main">
      <Title order={1}>Not found</Title>
      <Text>There is nothing at this address, or it belongs to a wallet that you are no member of.</Text>
      <Anchor component={Link} to="/">
        Go to your wallet
      </Anchor>
    </Stack>
  );
}
