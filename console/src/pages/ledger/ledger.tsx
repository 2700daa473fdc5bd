import { Button, Text, TextInput } from "@mantine/core";
import type { EntryKind } from "@pennyblack/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type EntryFilter, entriesQuery, exportPath } from "../../api/ledger.ts";
import { Chips } from "../../components/chips.tsx";
import { Page } from "../../components/page.tsx";
import { EmptyState, ErrorState, LoadMore, RowsSkeleton } from "../../components/states.tsx";
import { formatCount } from "../../format/format-time.ts";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { entryLabels } from "./entry-labels.ts";
import { EntryTable } from "./entry-table.tsx";
import classes from "./ledger.module.css";
import { isPeriod, periods, toDays } from "./period.ts";
import { SearchLookup } from "./search-lookup.tsx";
import { computeTotals } from "./statement.ts";
import { TotalRows } from "./total-rows.tsx";

const route = getRouteApi("/signed-in/w/$walletId/ledger");

/** Account statement of the wallet. The filters are in the URL, so that it can be shared. */
export function Ledger() {
  const { id } = useWallet();
  const { mode } = useMode();
  const filter = useFilter();
  return (
    <Page
      title="Ledger"
      description={
        mode === "test"
          ? "All transactions of this wallet. Test searches are free, so only live ones are listed."
          : "All transactions of this wallet, with the balance after each."
      }
      actions={
        <Button variant="default" component="a" href={exportPath(id, filter)} download>
          {filter.kind === undefined ? "Download CSV" : "Download CSV (all types)"}
        </Button>
      }
    >
      <SearchLookup />
      <Filters />
      <Statement filter={filter} />
    </Page>
  );
}

function useFilter(): EntryFilter {
  const { kind, period, from, to } = route.useSearch();
  const today = new Date().toISOString().slice(0, 10);
  return useMemo(() => {
    const days = toDays(isPeriod(period) ? period : "all", { from, to }, new Date(today));
    return { ...(isKind(kind) && { kind }), ...days };
  }, [kind, period, from, to, today]);
}

function isKind(text: unknown): text is EntryKind {
  return typeof text === "string" && Object.hasOwn(entryLabels, text);
}

const kindChips = [
  { value: "all", label: "All" },
  ...(["search", "top_up", "refund", "credit", "reversal"] as const).map((kind) => ({
    value: kind,
    label: entryLabels[kind].plural,
  })),
] as const;

function Filters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const period = isPeriod(search.period) ? search.period : "all";
  const setSearch = (change: Partial<typeof search>): Promise<void> =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <div className={classes.filters}>
      <Chips
        label="Type"
        value={isKind(search.kind) ? search.kind : "all"}
        options={kindChips}
        onChange={(kind) => setSearch({ kind: kind === "all" ? undefined : kind })}
      />
      <Chips
        label="Period"
        value={period}
        options={periods}
        onChange={(chosen) =>
          setSearch({ period: chosen === "all" ? undefined : chosen, from: undefined, to: undefined })
        }
      />
      {period === "dates" && (
        <div className={classes.dates}>
          <TextInput
            type="date"
            label="From"
            value={search.from ?? ""}
            onChange={(event) => setSearch({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            label="To (inclusive)"
            value={search.to ?? ""}
            onChange={(event) => setSearch({ to: event.currentTarget.value || undefined })}
          />
          <Text size="xs" c="dimmed" pb={8}>
            Dates are in UTC
          </Text>
        </div>
      )}
    </div>
  );
}

function Statement({ filter }: { filter: EntryFilter }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(entriesQuery(id, filter));
  if (list.isPending) return <RowsSkeleton rows={10} />;
  if (list.isError && !list.data) {
    return <ErrorState error={list.error} title="Couldn't load the ledger." onRetry={() => list.refetch()} />;
  }
  const entries = list.data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <NoEntries isFiltered={Object.keys(filter).length > 0} />;
  return (
    <>
      <EntryTable
        label="Transactions"
        entries={entries}
        hasBalance={filter.kind === undefined}
        footer={<TotalRows totals={computeTotals(entries)} />}
      />
      <Text size="sm" c="dimmed" mt="md">
        {formatCount(entries.length, "entry", "entries")}.
        {list.hasNextPage && " Load more to include older entries in the totals."}
      </Text>
      <LoadMore query={list} />
      {list.isFetchNextPageError && (
        <ErrorState error={list.error} title="Couldn't load more entries." onRetry={() => list.fetchNextPage()} />
      )}
    </>
  );
}

function NoEntries({ isFiltered }: { isFiltered: boolean }) {
  const { id } = useWallet();
  const navigate = route.useNavigate();
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching entries"
        action={
          <Button variant="default" onClick={() => navigate({ search: {}, replace: true })}>
            Clear filters
          </Button>
        }
      >
        No transaction has this type in this period.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No transactions yet"
      action={
        <Button variant="default" component={Link} to="/w/$walletId/top-up" params={{ walletId: id } as never}>
          Top up
        </Button>
      }
    >
      Top-ups, searches and refunds are listed here. A successful search costs one cent. Failed searches are not
      charged.
    </EmptyState>
  );
}
