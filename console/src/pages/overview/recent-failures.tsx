import { Anchor } from "@mantine/core";
import type { Search } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lastFailuresQuery } from "../../api/searches.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../components/page.tsx";
import { ExactTime } from "../../components/relative-time.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { capitalize, describeOutcome } from "../../format/describe-outcome.ts";
import { formatMoney, toNumber } from "../../format/format-money.ts";
import classes from "./overview.module.css";

export function RecentFailures({ walletId, mode }: { walletId: string; mode: Mode }) {
  const failures = useQuery(lastFailuresQuery(walletId, mode));
  const { data } = failures;
  return (
    <Section
      title="Recent failures"
      description="Failed searches and refused requests are not charged."
      actions={
        <Anchor
          component={Link}
          to="/w/$walletId/usage"
          params={{ walletId } as never}
          search={{ kind: "all", outcome: "failed" } as never}
          size="sm"
        >
          View all
        </Anchor>
      }
    >
      <QueryState query={failures} title="Couldn't load recent failures." rows={3} />
      {data?.length === 0 && (
        <EmptyState title={mode === "live" ? "No failures" : "No failed test searches"}>
          If a search fails or a request is refused, for example because a budget is spent, it is listed here with the
          reason and its request ID.
        </EmptyState>
      )}
      {data && data.length > 0 && (
        <ul className={classes.failures}>
          {data.map((search) => (
            <FailureRow key={search.request_id} walletId={walletId} search={search} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function FailureRow({ walletId, search }: { walletId: string; search: Search }) {
  const charged = toNumber(search.charged) > 0 ? `${formatMoney(search.charged)} charged` : "not charged";
  const { kind, outcome, key_name: keyName, run } = search;
  const details = [
    ...(kind === "refused" ? ["refused"] : []),
    charged,
    ...(keyName ? [`key ${keyName}`] : []),
    ...(run === null ? [] : [`run ${run}`]),
  ];
  return (
    <li>
      <ExactTime at={search.at} className={classes.time} />
      <span>
        {capitalize(describeOutcome(outcome).summary)} <span className={`mono ${classes.code}`}>{outcome}</span>
        <br />
        {capitalize(details.join(", "))}, request{" "}
        <Anchor
          component={Link}
          to="/w/$walletId/searches/$requestId"
          params={{ walletId, requestId: search.request_id } as never}
          className={`mono ${classes.id}`}
        >
          {search.request_id}
        </Anchor>
      </span>
    </li>
  );
}
