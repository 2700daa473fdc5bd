import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { latestSearchesQuery } from "../../api/searches.ts";
import type { Mode } from "../../api/wallet.ts";
import { Section } from "../../components/page.tsx";
import { EmptyState, QueryState } from "../../components/states.tsx";
import { RequestRows } from "./request-rows.tsx";

export function LatestSearches({ walletId, mode }: { walletId: string; mode: Mode }) {
  const latest = useQuery(latestSearchesQuery(walletId, mode));
  const { data } = latest;
  return (
    <Section
      title="Latest searches"
      actions={
        <Anchor component={Link} to="/w/$walletId/usage" params={{ walletId } as never} size="sm">
          View usage
        </Anchor>
      }
    >
      <QueryState query={latest} title="Couldn't load the latest searches." rows={3} />
      {data?.length === 0 && (
        <EmptyState title={mode === "live" ? "No live searches" : "No test searches"}>
          Each search is listed here with its charge, duration and request ID.
        </EmptyState>
      )}
      {data && data.length > 0 && <RequestRows walletId={walletId} requests={data} />}
    </Section>
  );
}
