import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { lastRequestQuery } from "../../api/searches.ts";
import { Page } from "../../components/page.tsx";
import { useMode } from "../../layout/mode.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { Quickstart } from "../welcome/quickstart.tsx";
import { LatestSearches } from "./latest-searches.tsx";
import { MetricsSkeleton, OverviewMetrics } from "./metrics.tsx";
import { RecentFailures } from "./recent-failures.tsx";
import { Spend } from "./spend.tsx";
import { Warnings } from "./warnings.tsx";

export function Overview() {
  const { id, canEdit } = useWallet();
  const { mode, setMode } = useMode();
  const { isPending, hasNone } = useFirstRequest(id);
  // After the first request arrives, the quickstart stays open until the user continues.
  const [isNew, setIsNew] = useState(false);
  useEffect(() => {
    if (hasNone) setIsNew(true);
  }, [hasNone]);

  if (isPending) {
    return (
      <Page title="Overview">
        <MetricsSkeleton />
        <Skeleton height={280} mt="xl" aria-label="Loading" role="status" />
      </Page>
    );
  }
  if (isNew || hasNone) {
    return (
      <Page title="Overview" description="No searches yet. Make your first one in two steps. It's free in test mode.">
        <Warnings walletId={id} hideBalance />
        <Quickstart
          walletId={id}
          canCreateKeys={canEdit}
          onContinue={(arrived) => {
            setMode(arrived);
            setIsNew(false);
          }}
        />
      </Page>
    );
  }
  return (
    <Page title="Overview">
      <Warnings walletId={id} hideBalance={mode === "test"} />
      <OverviewMetrics walletId={id} mode={mode} />
      <Spend walletId={id} mode={mode} />
      <LatestSearches walletId={id} mode={mode} />
      <RecentFailures walletId={id} mode={mode} />
    </Page>
  );
}

/** Old searches are pruned, so also check whether any key was used. */
function useFirstRequest(walletId: string): { isPending: boolean; hasNone: boolean } {
  const last = useQuery(lastRequestQuery(walletId));
  const keys = useQuery(keysQuery(walletId));
  const hasNone = last.data === null && keys.data?.every((key) => key.last_used_at === null) === true;
  return { isPending: last.isPending || (last.data === null && keys.isPending), hasNone };
}
