import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

// Keeps open pages up to date. Polling every query of a page would be too expensive with many open consoles,
// so one cheap request is polled, and the data is reloaded only when the wallet has changed. Nothing is polled while the
// tab is hidden.

const pollMs = 500;
/** After a reload that took long, as for a very busy wallet, the next poll waits this many times as long. */
const maxLoadRatio = 4;

const liveData = new Set<unknown>([
  "summary",
  "usage",
  "searches",
  "search",
  "entries",
  "runs",
  "keys",
  "budgets",
  "budget-requests",
  "top-ups",
]);

/** Whether the data depends on searches and money. */
function isLive({ queryKey }: { queryKey: readonly unknown[] }): boolean {
  return liveData.has(queryKey[2]);
}

/** Changes whenever the wallet's money moves or one of its searches ends. */
export const versionQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["version", walletId],
    queryFn: async () => (await api<{ version: string }>(walletPath(walletId, "version"))).version,
    staleTime: 0,
    retry: false,
  });

/** Reloads the wallet's data within a second of a change. */
export function useLiveUpdates(walletId: string): void {
  const queries = useQueryClient();
  // False during a reload: a second one would cancel it, and a busy wallet's data would never arrive.
  const [intervalMs, setIntervalMs] = useState<number | false>(pollMs);
  const { data: version, dataUpdatedAt } = useQuery({ ...versionQuery(walletId), refetchInterval: intervalMs });
  const lastSeen = useRef({ walletId, version, dataUpdatedAt });
  useEffect(() => {
    const last = lastSeen.current;
    lastSeen.current = { walletId, version, dataUpdatedAt };
    if (last.walletId !== walletId || last.version === undefined || last.dataUpdatedAt === dataUpdatedAt) return;
    if (last.version === version) {
      setIntervalMs(pollMs);
      return;
    }
    const startedMs = performance.now();
    const resume = (): void => setIntervalMs(Math.max(pollMs, maxLoadRatio * (performance.now() - startedMs)));
    setIntervalMs(false);
    // A failed reload is shown by the query itself.
    queries.invalidateQueries({ queryKey: ["wallet", walletId], predicate: isLive }).then(resume, resume);
  }, [queries, walletId, version, dataUpdatedAt]);
}
