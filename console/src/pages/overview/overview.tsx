import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keysQuery } from "../../api/keys.ts";
import { lastSearchQuery } from "../../api/searches.ts";
import { useMode } from "../../frame/mode.tsx";
import { useWallet } from "../../frame/use-wallet.ts";
import { Page } from "../../parts/page.tsx";
import { Quickstart } from "../welcome/quickstart.tsx";
import { Failures } from "./failures.tsx";
import { Figures, NoFigures } from "./figures.tsx";
import { Spend } from "./spend.tsx";
import { Warnings } from "./warnings.tsx";

/** How the wallet is: what is left, what was searched, what went wrong. */
export function Overview() {
  const { id, mayChange } = useWallet();
  const { mode, setMode } = useMode();
  const { isPending, hasNone } = useFirstSearch(id);
  // Whoever watched their first search arrive goes on when they want to, not under their eyes.
  const [isNew, setIsNew] = useState(false);
  useEffect(() => {
    if (hasNone) setIsNew(true);
  }, [hasNone]);

  if (isPending) {
    return (
      <Page title="Overview">
        <NoFigures />
        <Skeleton height={280} mt="xl" aria-label="Loading" role="status" />
      </Page>
    );
  }
  if (isNew || hasNone) {
    return (
      <Page title="Overview" about="No search yet. Two steps to the first one; neither costs anything.">
        <Warnings walletId={id} isQuietAboutBalance />
        <Quickstart
          walletId={id}
          mayMakeKeys={mayChange}
          go={(arrived) => {
            setMode(arrived);
            setIsNew(false);
          }}
        />
      </Page>
    );
  }
  return (
    <Page title="Overview">
      <Warnings walletId={id} isQuietAboutBalance={mode === "test"} />
      <Figures walletId={id} mode={mode} />
      <Spend walletId={id} mode={mode} />
      <Failures walletId={id} mode={mode} />
    </Page>
  );
}

/** Old searches are not listed any more; their keys still remember that they were used. */
function useFirstSearch(walletId: string): { isPending: boolean; hasNone: boolean } {
  const last = useQuery(lastSearchQuery(walletId));
  const keys = useQuery(keysQuery(walletId));
  const hasNone = last.data === null && keys.data?.every((key) => key.last_used_at === null) === true;
  return { isPending: last.isPending || (last.data === null && keys.isPending), hasNone };
}
