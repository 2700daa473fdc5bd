import type { RunList, UsagePeriod, UsageReport } from "@pennyblack/sdk";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import type { UsageGroup } from "./usage-group.ts";
import { walletPath } from "./wallet.ts";

export interface UsageQuery {
  from: string;
  /** By end user, only days are counted. */
  by: "hour" | "day";
  group: UsageGroup | undefined;
  /** Only searches for this end user. */
  endUser?: string | undefined;
}

export interface Usage extends Pick<UsageReport, "from" | "to" | "as_of" | "at_least"> {
  /** Oldest first. */
  lines: UsagePeriod[];
  /** There are more lines than the console loads. */
  isTruncated: boolean;
}

export const usageQuery = (walletId: string, query: UsageQuery) =>
  queryOptions({
    queryKey: ["wallet", walletId, "usage", query],
    queryFn: () => fetchAllUsage(walletId, query),
    // Live updates miss refusals that are counted but not stored individually.
    refetchInterval: 60_000,
  });

const pageSize = 2_000;
/** A wallet with very many end users would otherwise take minutes to load. */
const maxLines = 50_000;

/** Fetches every page: a chart or total of some of them would be wrong. Stops at `maxLines`, which the page reports. */
async function fetchAllUsage(walletId: string, { from, by, group, endUser }: UsageQuery): Promise<Usage> {
  const lines: UsagePeriod[] = [];
  let page: UsageReport;
  let cursor: string | undefined;
  do {
    const query = toQuery({ from, by, group, for: endUser, cursor, limit: String(pageSize) });
    page = await api<UsageReport>(walletPath(walletId, `usage?${query}`));
    lines.push(...page.usage);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && lines.length < maxLines);
  const { from: start, to, as_of, at_least } = page;
  return { from: start, to, as_of, at_least, lines, isTruncated: cursor !== undefined };
}

export const runsQuery = (walletId: string) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "runs"],
    queryFn: ({ pageParam }) =>
      api<RunList>(walletPath(walletId, `runs?${toQuery({ cursor: pageParam, limit: "50" })}`)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });
