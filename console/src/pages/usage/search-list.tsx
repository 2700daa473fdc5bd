import { Text } from "@mantine/core";
import type { Search } from "@pennyblack/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type SearchFilter, searchesQuery } from "../../api/searches.ts";
import { Money } from "../../components/money.tsx";
import { ExactTime } from "../../components/relative-time.tsx";
import { EmptyState, LoadMore, QueryState } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Cell, Row, Table } from "../../components/table.tsx";
import { capitalize, describeOutcome } from "../../format/describe-outcome.ts";
import { formatEndUser } from "../../format/format-end-user.ts";
import { formatMs } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./usage.module.css";

/** Searches that match the filter, newest first. Each leads to its page. */
export function SearchList({ filter }: { filter: SearchFilter }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(searchesQuery(id, filter));
  const searches = list.data?.pages.flatMap((page) => page.searches) ?? [];
  return (
    <>
      <QueryState query={list} title="Couldn't load searches." rows={5} />
      {list.data && searches.length === 0 && !list.hasNextPage && (
        <EmptyState title="No searches to list">
          Requests that were rejected before their price was held, and replays of an Idempotency-Key, are counted but
          have no record. They are never charged.
        </EmptyState>
      )}
      {searches.length > 0 && (
        <Table
          label="Searches"
          className={classes.searches ?? ""}
          columns={[
            { name: "Time" },
            { name: "Result" },
            { name: "Key" },
            { name: "Request" },
            { name: "Duration", isNumeric: true },
            { name: "Charged", isNumeric: true },
          ]}
        >
          {searches.map((search) => (
            <SearchRow key={search.request_id} walletId={id} search={search} />
          ))}
        </Table>
      )}
      <LoadMore query={list} />
    </>
  );
}

function SearchRow({ walletId, search }: { walletId: string; search: Search }) {
  const { request_id: requestId, at, outcome, key_name: keyName, category, ms, charged, end_user: endUser } = search;
  const to = "/w/$walletId/searches/$requestId";
  const params = { walletId, requestId };
  return (
    <Row>
      <Cell className={classes.at ?? ""}>
        <ExactTime at={at} />
      </Cell>
      <Cell className={classes.result ?? ""}>
        {/* The only link on narrow screens, where the request ID is hidden. */}
        <Link to={to} params={params} className={classes.resultLink} tabIndex={-1}>
          {outcome === "ok" ? (
            <StatusBadge tone="success">Completed</StatusBadge>
          ) : (
            <StatusBadge tone="warning">{capitalize(describeOutcome(outcome).summary)}</StatusBadge>
          )}
        </Link>
      </Cell>
      <Cell className={classes.wide ?? ""}>
        {keyName ?? "deleted"}
        {category !== null && (
          <Text size="xs" c="dimmed">
            {category}
          </Text>
        )}
        {endUser !== null && (
          <Text size="xs" c="dimmed" title={endUser}>
            for {formatEndUser(endUser)}
          </Text>
        )}
      </Cell>
      <Cell className={classes.wide ?? ""}>
        <Link to={to} params={params} className={`mono ${classes.id ?? ""}`}>
          {requestId}
        </Link>
      </Cell>
      <Cell isNumeric className={classes.duration ?? ""}>
        {ms === null ? "" : formatMs(ms)}
      </Cell>
      <Cell isNumeric className={classes.charged ?? ""}>
        <Money amount={charged} />
      </Cell>
    </Row>
  );
}
