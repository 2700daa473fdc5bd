import { Button, Group, Tabs, Text } from "@mantine/core";
import type { CreatedKey } from "@pennyblack/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery } from "../../api/keys.ts";
import { lastRequestQuery } from "../../api/searches.ts";
import { useSession } from "../../api/session.ts";
import { type Mode, walletPath } from "../../api/wallet.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { InlineError, RowsSkeleton } from "../../components/states.tsx";
import { formatCodeSample } from "../../format/format-code-sample.ts";
import { FirstSearchStatus } from "./first-search-status.tsx";
import { NextSteps } from "./next-steps.tsx";
import { Step } from "./step.tsx";
import classes from "./welcome.module.css";

/** Guides the user to the first search: a test key, one command, and a status that polls for the search. */
export function Quickstart(props: {
  walletId: string;
  canCreateKeys: boolean;
  /** An earlier step, used during sign-up. */
  previousStep?: ReactNode;
  /** Called with the mode of the first search. */
  onContinue: (mode: Mode) => unknown;
}) {
  const { walletId, canCreateKeys, previousStep, onContinue } = props;
  const [key, setKey] = useState<string>();
  const lastRequest = useQuery({
    ...lastRequestQuery(walletId),
    refetchInterval: ({ state }) => (state.data?.kind === "search" ? false : 1_000),
  });
  const firstStep = previousStep === undefined ? 1 : 2;
  return (
    <ol className={classes.steps}>
      {previousStep}
      <Step number={firstStep} title="Create a test key" isDone={key !== undefined}>
        {key === undefined ? (
          <CreateTestKey walletId={walletId} canCreateKeys={canCreateKeys} onCreated={setKey} />
        ) : (
          <>
            <Text size="sm" c="dimmed" mb="xs">
              This key is shown only once. Store it with your program's secrets, not in its source code.
            </Text>
            <CodeBlock text={key} label="test key" />
          </>
        )}
      </Step>
      <Step number={firstStep + 1} title="Send your first search" isDone={lastRequest.data?.kind === "search"}>
        <FirstSearch apiKey={key} />
        <FirstSearchStatus request={lastRequest.data} error={lastRequest.error} onContinue={onContinue} />
      </Step>
      {canCreateKeys && <NextSteps walletId={walletId} number={firstStep + 2} />}
    </ol>
  );
}

function CreateTestKey(props: { walletId: string; canCreateKeys: boolean; onCreated: (key: string) => void }) {
  const { walletId, canCreateKeys, onCreated } = props;
  const queries = useQueryClient();
  const keys = useQuery(keysQuery(walletId));
  const create = useMutation({
    mutationFn: () =>
      api<CreatedKey>(walletPath(walletId, "keys"), {
        method: "POST",
        body: { mode: "test", name: "First test key" },
      }),
    onSuccess: async ({ key }) => {
      onCreated(key);
      await queries.invalidateQueries({ queryKey: ["wallet", walletId, "keys"] });
    },
  });
  if (!canCreateKeys) return <Text size="sm">Viewers cannot create keys. Ask an owner or developer for one.</Text>;
  if (keys.isPending) return <RowsSkeleton rows={1} />;
  const existing = keys.data?.find(({ mode, state }) => mode === "test" && state === "active");
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        {existing
          ? `This wallet already has a test key, “${existing.name}” (${existing.start}…). It was shown only when it was created. Create another one if you don't have it.`
          : "Test keys are free and return synthetic results."}
      </Text>
      <Group gap="md">
        <Button onClick={() => create.mutate()} loading={create.isPending} variant={existing ? "default" : "filled"}>
          {existing ? "Create another test key" : "Create test key"}
        </Button>
        <InlineError error={create.error ?? keys.error} />
      </Group>
    </>
  );
}

const languages = ["curl", "TypeScript", "Python"] as const;

function FirstSearch({ apiKey }: { apiKey: string | undefined }) {
  const { public_url: url } = useSession();
  const search = { url, query: "postgresql advisory locks", n: 3, key: apiKey };
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        {apiKey === undefined ? "Set PENNYBLACK_API_KEY to your key first." : "Your key is already filled in."}
      </Text>
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List mb="sm">
          {languages.map((language) => (
            <Tabs.Tab key={language} value={language}>
              {language}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {languages.map((language) => (
          <Tabs.Panel key={language} value={language}>
            <CodeBlock text={formatCodeSample(language, search)} label={`${language} example`} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
