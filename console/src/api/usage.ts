import type { UsagePeriod } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

export type UsageGroup = "key" | "category" | "outcome";

export interface UsageQuery {
  from: string;
  by: "hour" | "day";
  group: UsageGroup | undefined;
}

export interface Usage {
  from: string;
  to: string;
  as_of: string;
  lines: UsagePeriod[];
}

interface UsagePage {
  from: string;
  to: string;
  as_of: string;
  usage: UsagePeriod[];
  next_cursor: string | null;
}

export const usageQuery = (walletId: string, query: UsageQuery) =>
  queryOptions({
    queryKey: ["wallet", walletId, "usage", query],
    queryFn: () => fetchAllUsage(walletId, query),
    // Refused requests do not change the wallet, so live updates miss them.
    refetchInterval: 60_000,
  });

/** Fetches every page: a chart or total of some of them would be wrong. */
async function fetchAllUsage(walletId: string, { from, by, group }: UsageQuery): Promise<Usage> {
  const lines: UsagePeriod[] = [];
  let page: UsagePage;
  let cursor: string | undefined;
  do {
    page = await api<UsagePage>(walletPath(walletId, `usage?${toQuery({ from, by, group, cursor, limit: "2000" })}`));
    lines.push(...page.usage);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { from: page.from, to: page.to, as_of: page.as_of, lines };
}

export interface Run {
  run: string;
  spent: string;
  limit: string;
  searches: number;
  first_at: string;
  expires_at: string;
}

export const runsQuery = (walletId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "runs"],
    queryFn: ({ pageParam }) =>
      api<{ runs: Run[]; next_cursor: string | null }>(
        walletPath(walletId, `runs?${toQuery({ cursor: pageParam, limit: "50" })}`),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
