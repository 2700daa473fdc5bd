import { Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { InlineError } from "../components/states.tsx";

export function OperatorSignIn() {
  const [token, setToken] = useState("");
  const queries = useQueryClient();
  const signIn = useMutation({
    mutationFn: () => api("/operator/session", { method: "POST", body: { token } }),
    onSuccess: () => queries.invalidateQueries(),
  });
  return (
    <Stack component="main" maw={400} mx="auto" mt={96} px="md">
      <Title order={1}>Operator console</Title>
      <Text c="dimmed">Use a token from PENNYBLACK_OPERATORS. The session lasts eight hours.</Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate();
        }}
      >
        <Stack>
          <PasswordInput
            label="Token"
            autoComplete="current-password"
            required
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
          />
          <Button type="submit" loading={signIn.isPending}>
            Sign in
          </Button>
          <InlineError error={signIn.error} />
        </Stack>
      </form>
    </Stack>
  );
}
