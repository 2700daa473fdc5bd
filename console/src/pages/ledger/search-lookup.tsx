import { Anchor, Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type SubmitEvent, useState } from "react";
import { ApiProblem } from "../../api/client.ts";
import { searchQuery } from "../../api/ledger.ts";
import { RelativeTime } from "../../components/relative-time.tsx";
import { ErrorState, RowsSkeleton } from "../../components/states.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { describeSearch } from "./describe-search.ts";
import { EntryTable } from "./entry-table.tsx";
import classes from "./ledger.module.css";

export function SearchLookup({ requestId }: { requestId: string | undefined }) {
  const { id } = useWallet();
  const navigate = useNavigate();
  const [text, setText] = useState(requestId ?? "");
  const navigateTo = (newId: string | undefined): Promise<void> =>
    navigate({ to: "/w/$walletId/ledger", params: { walletId: id }, search: newId ? { request_id: newId } : {} });
  const submit = (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    return navigateTo(text.trim() || undefined);
  };
  return (
    <>
      <form className={classes.lookup} onSubmit={submit} role="search">
        <TextInput
          label="Was a search charged?"
          placeholder="Request ID, such as 0197c3f2-…"
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          Look up
        </Button>
      </form>
      {requestId !== undefined && (
        <LookupResult
          key={requestId}
          requestId={requestId}
          onClose={async () => {
            setText("");
            await navigateTo(undefined);
          }}
        />
      )}
    </>
  );
}

function LookupResult({ requestId, onClose }: { requestId: string; onClose: () => Promise<void> }) {
  const { id } = useWallet();
  const search = useQuery(searchQuery(id, requestId));
  const isNotFound = search.error instanceof ApiProblem && search.error.status === 404;
  if (search.isError && !isNotFound) {
    return <ErrorState error={search.error} title="Couldn't look up the search." onRetry={() => search.refetch()} />;
  }
  return (
    <section className={classes.result} aria-label="Search details" aria-live="polite">
      <Group justify="space-between" align="flex-start" wrap="nowrap" mb="xs">
        <div>
          {search.isPending && <RowsSkeleton rows={2} />}
          {isNotFound && <SearchNotFound />}
          {search.data && <ChargeSummary search={search.data} />}
          <Text size="xs" c="dimmed" className={`mono ${classes.id ?? ""}`}>
            {requestId}
          </Text>
        </div>
        <Anchor component="button" type="button" size="sm" onClick={() => onClose()}>
          Close
        </Anchor>
      </Group>
      {search.data && search.data.entries.length > 0 && (
        <EntryTable label="Entries of this search" entries={search.data.entries} hasBalance={false} />
      )}
    </section>
  );
}

function SearchNotFound() {
  return (
    <>
      <Text fw={600}>Not charged.</Text>
      <Text size="sm">
        No search in this wallet has this ID. Requests that were rejected before a hold are not recorded. Check that the
        ID is complete and belongs to this wallet.
      </Text>
    </>
  );
}

function ChargeSummary({ search }: { search: Parameters<typeof describeSearch>[0] }) {
  const { charge, details } = describeSearch(search);
  return (
    <>
      <Text fw={600}>{charge}</Text>
      <Text size="sm">
        {details} Sent <RelativeTime at={search.at} />.
      </Text>
    </>
  );
}
