import { Button, Group, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "../../api/client.ts";
import { keysQuery, type NewKey } from "../../api/keys.ts";
import { lastSearchQuery } from "../../api/searches.ts";
import { useSession } from "../../api/session.ts";
import { type Mode, walletPath } from "../../api/wallet.ts";
import { Code } from "../../parts/code.tsx";
import { Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { writeCode } from "../../words/write-code.ts";
import { Arrival } from "./arrival.tsx";
import { Step } from "./step.tsx";
import classes from "./welcome.module.css";

/** From nothing to the first search: a test key, one command, and a line that turns green when it arrived. */
export function Quickstart(props: {
  walletId: string;
  mayMakeKeys: boolean;
  /** What stands before it, as in the first run. */
  before?: ReactNode;
  /** On to the overview, in the mode of the search that arrived. */
  go: (mode: Mode) => unknown;
}) {
  const { walletId, mayMakeKeys, before, go } = props;
  const [key, setKey] = useState<string>();
  const first = useQuery({
    ...lastSearchQuery(walletId),
    refetchInterval: ({ state }) => (state.data ? false : 2_000),
    refetchIntervalInBackground: true,
  });
  const start = before === undefined ? 1 : 2;
  return (
    <ol className={classes.steps}>
      {before}
      <Step number={start} title="Make a test key" isDone={key !== undefined}>
        {key === undefined ? (
          <KeyMaker walletId={walletId} mayMakeKeys={mayMakeKeys} onMade={setKey} />
        ) : (
          <>
            <Text size="sm" c="dimmed" mb="xs">
              It is shown this once. Keep it where your program reads its secrets, not in its source.
            </Text>
            <Code text={key} label="the test key" />
          </>
        )}
      </Step>
      <Step number={start + 1} title="Send your first search" isDone={Boolean(first.data)}>
        <FirstSearch apiKey={key} />
        <Arrival search={first.data} error={first.error} go={go} />
      </Step>
    </ol>
  );
}

function KeyMaker(props: { walletId: string; mayMakeKeys: boolean; onMade: (key: string) => void }) {
  const { walletId, mayMakeKeys, onMade } = props;
  const queries = useQueryClient();
  const keys = useQuery(keysQuery(walletId));
  const make = useMutation({
    mutationFn: () =>
      api<NewKey>(walletPath(walletId, "keys"), {
        method: "POST",
        body: { mode: "test", name: "First test key" },
      }),
    onSuccess: async ({ key }) => {
      onMade(key);
      await queries.invalidateQueries({ queryKey: ["wallet", walletId, "keys"] });
    },
  });
  if (!mayMakeKeys)
    return <Text size="sm">Viewers make no keys. Ask an owner or a developer of the account for one.</Text>;
  if (keys.isPending) return <RowsSkeleton rows={1} />;
  const existing = keys.data?.find(({ mode, state }) => mode === "test" && state === "active");
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        {existing
          ? `The wallet has a test key already, “${existing.name}” (${existing.start}…). Whoever made it has seen it once; make another if you do not have it.`
          : "Test keys run the whole service with made-up results, and cost nothing."}
      </Text>
      <Group gap="md">
        <Button onClick={() => make.mutate()} loading={make.isPending} variant={existing ? "default" : "filled"}>
          {existing ? "Make another test key" : "Make a test key"}
        </Button>
        <Refusal error={make.error ?? keys.error} />
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
        {apiKey === undefined
          ? "Put your key into PENNYBLACK_API_KEY first."
          : "Your key is filled in. Paste it into a terminal."}
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
            <Code text={writeCode(language, search)} label={`the search in ${language}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
