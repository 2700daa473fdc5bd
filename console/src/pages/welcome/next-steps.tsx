import { Anchor, Button, Group, Text } from "@mantine/core";
import type { CreatedKey } from "@pennyblack/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { useSession } from "../../api/session.ts";
import { walletPath } from "../../api/wallet.ts";
import { McpSetup } from "../../components/mcp-setup.tsx";
import { InlineError } from "../../components/states.tsx";
import { Step } from "./step.tsx";

/** Steps that most wallets need after the first search. Each step is done once the keys show it. */
export function NextSteps({ walletId, number }: { walletId: string; number: number }) {
  const { public_url: url } = useSession();
  const queries = useQueryClient();
  const keys = useQuery({ ...keysQuery(walletId), refetchInterval: 5_000 });
  const create = useMutation({
    mutationFn: () =>
      api<CreatedKey>(walletPath(walletId, "keys"), {
        method: "POST",
        body: { mode: "live", name: "Assistant", scopes: ["search", "wallet:read"], budget: { day: "1.00" } },
      }),
    onSuccess: () => queries.invalidateQueries(keysQuery(walletId)),
  });
  const active = keys.data?.filter(({ state }) => state === "active") ?? [];
  const isConnected = active.some(({ id, last_used_at: usedAt }) => id === create.data?.id && usedAt !== null);
  return (
    <>
      <Step number={number} title="Connect an assistant (optional)" isDone={isConnected}>
        {create.data ? (
          <McpSetup server={{ url, key: create.data.key }} />
        ) : (
          <>
            <Text size="sm" c="dimmed" mb="sm">
              An assistant decides for itself how often to search, so its key is limited to 1.00 USD per day.
            </Text>
            <Group gap="md">
              <Button variant="default" loading={create.isPending} onClick={() => create.mutate()}>
                Create a key for an assistant
              </Button>
              <InlineError error={create.error} />
            </Group>
          </>
        )}
      </Step>
      <Step number={number + 1} title="Set a budget (optional)" isDone={active.some(({ budget }) => budget !== null)}>
        <Text size="sm" c="dimmed">
          A budget stops a key at an amount per day, per month or in total, even if a program runs in a loop.{" "}
          <Anchor component={Link} to="/w/$walletId/keys" params={{ walletId } as never}>
            Set one for a key
          </Anchor>
        </Text>
      </Step>
    </>
  );
}
