import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lastFailuresQuery } from "../../api/searches.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { RequestRows } from "./request-rows.tsx";

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
      {data && data.length > 0 && <RequestRows walletId={walletId} requests={data} />}
    </Section>
  );
}
