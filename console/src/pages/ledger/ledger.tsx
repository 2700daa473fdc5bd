import { Button, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { type EntriesWanted, type EntryKind, entriesQuery, entryKinds, exportPath } from "../../api/ledger.ts";
import { useMode } from "../../frame/mode.tsx";
import { useWallet } from "../../frame/use-wallet.ts";
import { Chips } from "../../parts/chips.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../../parts/states.tsx";
import { EntryTable } from "./entry-table.tsx";
import { kindWords } from "./kind-words.ts";
import classes from "./ledger.module.css";
import { LookUp } from "./look-up.tsx";
import { isPeriod, periods, toDays } from "./period.ts";
import { addUp } from "./statement.ts";
import { TotalLines } from "./total-lines.tsx";

const route = getRouteApi("/signed-in/w/$walletId/ledger");

/** A bank statement of the wallet. What is shown stands in the address, so that it can be sent to a colleague. */
export function Ledger() {
  const { id } = useWallet();
  const { mode } = useMode();
  const wanted = useWanted();
  return (
    <Page
      title="Ledger"
      about={
        mode === "test"
          ? "Every movement of money. Test searches move none, so these lines are live."
          : "Every movement of money, and what was left after it."
      }
      actions={
        <Button variant="default" component="a" href={exportPath(id, wanted)} download>
          {wanted.kind === undefined ? "Download CSV" : "Download CSV of all kinds"}
        </Button>
      }
    >
      <LookUp requestId={route.useSearch().request_id} />
      <Filters />
      <Statement wanted={wanted} />
    </Page>
  );
}

function useWanted(): EntriesWanted {
  const { kind, period, from, to } = route.useSearch();
  const today = new Date().toISOString().slice(0, 10);
  return useMemo(() => {
    const days = toDays(isPeriod(period) ? period : "all", { from, to }, new Date(today));
    return { ...(isKind(kind) && { kind }), ...days };
  }, [kind, period, from, to, today]);
}

function isKind(text: unknown): text is EntryKind {
  return entryKinds.some((kind) => kind === text);
}

const kindChips = [
  { value: "all", label: "Everything" },
  ...(["search", "top_up", "refund", "credit", "reversal"] as const).map((kind) => ({
    value: kind,
    label: kindWords[kind].many,
  })),
] as const;

function Filters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const period = isPeriod(search.period) ? search.period : "all";
  const set = (change: Partial<typeof search>): Promise<void> =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <div className={classes.filters}>
      <Chips
        label="What"
        value={isKind(search.kind) ? search.kind : "all"}
        options={kindChips}
        onChange={(kind) => set({ kind: kind === "all" ? undefined : kind })}
      />
      <Chips
        label="When"
        value={period}
        options={periods}
        onChange={(chosen) => set({ period: chosen === "all" ? undefined : chosen, from: undefined, to: undefined })}
      />
      {period === "dates" && (
        <div className={classes.dates}>
          <TextInput
            type="date"
            label="From"
            value={search.from ?? ""}
            onChange={(event) => set({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            label="To, included"
            value={search.to ?? ""}
            onChange={(event) => set({ to: event.currentTarget.value || undefined })}
          />
          <Text size="xs" c="dimmed" pb={8}>
            Days of UTC
          </Text>
        </div>
      )}
    </div>
  );
}

function Statement({ wanted }: { wanted: EntriesWanted }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(entriesQuery(id, wanted));
  if (list.isPending) return <RowsSkeleton rows={10} />;
  if (list.isError && !list.data) {
    return <Failure error={list.error} what="The ledger could not be read." retry={() => list.refetch()} />;
  }
  const entries = list.data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <NoLines isFiltered={Object.keys(wanted).length > 0} />;
  return (
    <>
      <EntryTable
        label="Movements of money"
        entries={entries}
        hasBalance={wanted.kind === undefined}
        foot={<TotalLines totals={addUp(entries)} count={entries.length} />}
      />
      {list.hasNextPage && (
        <Button variant="default" mt="md" loading={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
          Older
        </Button>
      )}
      {list.isFetchNextPageError && (
        <Failure error={list.error} what="Older lines could not be read." retry={() => list.fetchNextPage()} />
      )}
    </>
  );
}

function NoLines({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No line is like that">
      Nothing of this kind moved on these days. Choose Everything and All time.
    </Empty>
  ) : (
    <Empty title="No money has moved yet">
      The first line will be a top-up or a credit. From then on each search that works is a line of one cent, and each
      that fails is none.
    </Empty>
  );
}
