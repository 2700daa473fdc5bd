import { Text } from "@mantine/core";
import type { SearchDetails } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ApiProblem } from "../../api/client.ts";
import { searchQuery } from "../../api/ledger.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Metric } from "../../components/metric.tsx";
import { Page, Section } from "../../components/page.tsx";
import { QueryState } from "../../components/states.tsx";
import { ModeBadge } from "../../components/status-badge.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatMs } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { EntryTable } from "../ledger/entry-table.tsx";
import { describeSearch } from "./describe-search.ts";
import classes from "./search.module.css";
import { Timeline } from "./timeline.tsx";

const route = getRouteApi("/signed-in/w/$walletId/searches/$requestId");

/** One search: what it cost, when its money moved, and its ledger entries. Members of the wallet can share its URL. */
export function Search() {
  const { id } = useWallet();
  const { requestId } = route.useParams();
  const search = useQuery(searchQuery(id, requestId));
  const isNotFound = search.error instanceof ApiProblem && search.error.status === 404;
  if (isNotFound) return <SearchNotFound requestId={requestId} />;
  return (
    <Page
      title={titles[search.data?.kind ?? "search"]}
      description={<span className={`mono ${classes.id}`}>{requestId}</span>}
      actions={
        <>
          <CopyButton text={requestId} label="Copy ID" />
          <CopyButton text={window.location.href} label="Copy link" />
        </>
      }
    >
      <QueryState query={search} title="Couldn't load the search." rows={6} />
      {search.data && <Result search={search.data} />}
    </Page>
  );
}

const titles: Record<SearchDetails["kind"], string> = {
  search: "Search",
  refused: "Refused request",
  replayed: "Replay",
};

function SearchNotFound({ requestId }: { requestId: string }) {
  return (
    <Page title="Search not found" description={<span className={`mono ${classes.id}`}>{requestId}</span>}>
      <Text maw={640}>
        No search in this wallet has this ID, so nothing was charged for it. Refused requests are listed for 7 days, at
        most 20 per key and minute. Check that the ID is complete and belongs to this wallet.
      </Text>
    </Page>
  );
}

function Result({ search }: { search: SearchDetails }) {
  const { charge, result } = describeSearch(search);
  const hasPlainCharge = search.outcome === "ok" && search.entries.length === 1;
  const [lastEntry] = search.entries;
  return (
    <>
      <div className={classes.metrics}>
        <Metric
          label="Charged"
          value={search.mode === "test" ? "Free" : formatMoney(search.charged)}
          description={hasPlainCharge ? undefined : charge}
        />
        <Metric
          label="Balance after"
          value={lastEntry?.balance === undefined ? "unchanged" : formatMoney(lastEntry.balance)}
        />
        {search.kind === "search" ? (
          <Metric
            label="Duration"
            value={search.ms === null ? "in progress" : formatMs(search.ms)}
            description={result}
          />
        ) : (
          <Metric label="Result" value={result} />
        )}
      </div>
      <Section title={search.kind === "search" ? "Timeline" : "What happened"}>
        <Timeline search={search} />
      </Section>
      <Section title="Details">
        <Details search={search} />
      </Section>
      <Section title="Ledger entries">
        {search.entries.length === 0 ? (
          <Text c="dimmed">None. {charge}</Text>
        ) : (
          <EntryTable label="Entries of this search" entries={search.entries} hasBalance />
        )}
      </Section>
    </>
  );
}

const transports: Record<NonNullable<SearchDetails["transport"]>, string> = {
  http: "/v1/search",
  compat: "a compatibility endpoint",
  mcp: "/mcp",
  playground: "the playground",
};

function Details({ search }: { search: SearchDetails }) {
  const { id } = useWallet();
  const { kind, key_name: keyName, key_id: keyId, category, end_user: endUser, run, mode, outcome } = search;
  const params = { walletId: id };
  const rows: [string, ReactNode][] = [
    ["Mode", <ModeBadge key="mode" mode={mode} />],
    [
      "Key",
      <Link key="key" to="/w/$walletId/usage" params={params} search={{ key: keyId }} className={classes.link}>
        {keyName ?? keyId}
      </Link>,
    ],
    kind === "search" ? ["Category", category ?? "none"] : ["Sent to", transports[search.transport ?? "http"]],
    [
      "End user",
      endUser === null ? (
        "none"
      ) : (
        <Link key="user" to="/w/$walletId/usage" params={params} search={{ for: endUser }} className={classes.link}>
          {endUser}
        </Link>
      ),
    ],
    [
      "Run",
      run === null ? (
        "none"
      ) : (
        <Link key="run" to="/w/$walletId/usage" params={params} search={{ run, kind: "all" }} className={classes.link}>
          {run}
        </Link>
      ),
    ],
    [
      "Outcome",
      <span key="outcome" className="mono">
        {outcome}
      </span>,
    ],
  ];
  return (
    <dl className={classes.details}>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
