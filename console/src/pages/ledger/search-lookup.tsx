import { Anchor, Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem } from "../../api/client.ts";
import { searchQuery } from "../../api/ledger.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Moment } from "../../parts/moment.tsx";
import { Failure, RowsSkeleton } from "../../parts/states.tsx";
import { EntryTable } from "./entry-table.tsx";
import classes from "./ledger.module.css";
import { tellSearch } from "./tell-search.ts";

/** Was this search charged? */
export function LookUp({ requestId }: { requestId: string | undefined }) {
  const { id } = useWallet();
  const navigate = useNavigate();
  const [typed, setTyped] = useState(requestId ?? "");
  const show = (wanted: string | undefined): Promise<void> =>
    navigate({ to: "/w/$walletId/ledger", params: { walletId: id }, search: wanted ? { request_id: wanted } : {} });
  const submit = (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    return show(typed.trim() || undefined);
  };
  return (
    <>
      <form className={classes.lookUp} onSubmit={submit} role="search">
        <TextInput
          label="Was a search charged?"
          placeholder="Its Request-Id, such as 0197c3f2-…"
          value={typed}
          spellCheck={false}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          Look up
        </Button>
      </form>
      {requestId !== undefined && (
        <Found
          key={requestId}
          requestId={requestId}
          onClose={async () => {
            setTyped("");
            await show(undefined);
          }}
        />
      )}
    </>
  );
}

function Found({ requestId, onClose }: { requestId: string; onClose: () => Promise<void> }) {
  const { id } = useWallet();
  const found = useQuery(searchQuery(id, requestId));
  const isUnknown = found.error instanceof ApiProblem && found.error.status === 404;
  if (found.isError && !isUnknown) {
    return <Failure error={found.error} what="The search could not be looked up." retry={() => found.refetch()} />;
  }
  return (
    <section className={classes.found} aria-label="The search" aria-live="polite">
      <Group justify="space-between" align="flex-start" wrap="nowrap" mb="xs">
        <div>
          {found.isPending && <RowsSkeleton rows={2} />}
          {isUnknown && <Unknown />}
          {found.data && <Verdict search={found.data} />}
          <Text size="xs" c="dimmed" className={`mono ${classes.id ?? ""}`}>
            {requestId}
          </Text>
        </div>
        <Anchor component="button" type="button" size="sm" onClick={() => onClose()}>
          Close
        </Anchor>
      </Group>
      {found.data && found.data.entries.length > 0 && (
        <EntryTable label="Entries of the search" entries={found.data.entries} hasBalance={false} />
      )}
    </section>
  );
}

function Unknown() {
  return (
    <>
      <Text fw={600}>Not charged.</Text>
      <Text size="sm">
        No search of this wallet has this id. A request that was refused before its price was set aside never becomes a
        search. Look whether the id is whole and of this wallet.
      </Text>
    </>
  );
}

function Verdict({ search }: { search: Parameters<typeof tellSearch>[0] }) {
  const { verdict, why } = tellSearch(search);
  return (
    <>
      <Text fw={600}>{verdict}</Text>
      <Text size="sm">
        {why} Sent <Moment at={search.at} />.
      </Text>
    </>
  );
}
