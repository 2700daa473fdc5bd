import { Anchor, Text } from "@mantine/core";
import type { Search, UnlistedRequests } from "@pennyblack/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type RequestKind, type SearchFilter, searchesQuery } from "../../api/searches.ts";
import { Money } from "../../components/money.tsx";
import { ExactTime } from "../../components/relative-time.tsx";
import { EmptyState, LoadMore, QueryState } from "../../components/states.tsx";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";
import { Cell, Row, Table } from "../../components/table.tsx";
import { formatOutcome } from "../../format/describe-outcome.ts";
import { formatEndUser } from "../../format/format-end-user.ts";
import { formatMs } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import classes from "./usage.module.css";

export const kindNames: Record<RequestKind, { title: string; description: string }> = {
  search: {
    title: "Searches",
    description:
      "A search is a request whose price was held. Refused requests and replays of an Idempotency-Key are listed separately. They are never charged.",
  },
  refused: {
    title: "Refusals",
    description:
      "A refusal is a request that was rejected before its price was held, for example by a limit, a budget or the balance. Refusals are never charged and are listed for 7 days.",
  },
  replayed: {
    title: "Replays",
    description:
      "A replay is a request that was answered from its Idempotency-Key. Replays are never charged and are listed for 7 days.",
  },
  all: { title: "Requests", description: "Searches, refused requests and replays of an Idempotency-Key." },
};

/** Requests that match the filter, newest first. Each leads to its page. */
export function SearchList({ filter }: { filter: SearchFilter }) {
  const { id } = useWallet();
  const list = useInfiniteQuery(searchesQuery(id, filter));
  const searches = list.data?.pages.flatMap((page) => page.searches) ?? [];
  const unlisted = list.data?.pages.at(-1)?.unlisted;
  const { title, description } = kindNames[filter.kind];
  return (
    <>
      <QueryState query={list} title={`Couldn't load ${title.toLowerCase()}.`} rows={5} />
      {list.data && searches.length === 0 && !list.hasNextPage && (
        <EmptyState title={`No ${title.toLowerCase()} to list`}>{description}</EmptyState>
      )}
      {searches.length > 0 && (
        <Table
          label={title}
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
      {unlisted && <UnlistedNote unlisted={unlisted} />}
      <LoadMore query={list} />
    </>
  );
}

/** Only a limited number of refusals and replays is stored individually. */
function UnlistedNote({ unlisted: { since, count, at_least: isAtLeast } }: { unlisted: UnlistedRequests }) {
  if (count === 0 && !isAtLeast) return undefined;
  const number = `${isAtLeast ? "at least " : ""}${count.toLocaleString("en")}`;
  return (
    <Text size="sm" c="dimmed" mt="sm">
      {count === 0 ? "There can be more" : `And ${number} more`} since <ExactTime at={since} />
      {count === 0
        ? ": a server failed before it had stored all of them. "
        : ", which were counted but not stored one by one. "}
      <Anchor href="/docs/top-ups#refused-requests" target="_blank" inherit>
        How many are stored
      </Anchor>
    </Text>
  );
}

function SearchRow({ walletId, search }: { walletId: string; search: Search }) {
  const { request_id: requestId, kind, at, outcome, key_name: keyName, category, ms, charged, run } = search;
  const endUser = search.end_user;
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
          <Outcome outcome={outcome} />
        </Link>
        {kind === "refused" && (
          <Text size="xs" c="dimmed">
            refused, <span className="mono">{outcome}</span>
          </Text>
        )}
      </Cell>
      <Cell className={classes.wide ?? ""}>
        {keyName ?? "deleted"}
        {category !== null && (
          <Text size="xs" c="dimmed">
            {category}
          </Text>
        )}
        {run !== null && (
          <Text size="xs" c="dimmed" className={classes.run ?? ""}>
            run {run}
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

const tones: Record<string, Tone> = { ok: "success", pending: "neutral", replayed: "neutral" };

function Outcome({ outcome }: { outcome: string }) {
  return <StatusBadge tone={tones[outcome] ?? "warning"}>{formatOutcome(outcome)}</StatusBadge>;
}
