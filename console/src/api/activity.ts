import type { ActivityList } from "@pennyblack/sdk";
import { infiniteQueryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { toQuery } from "./ledger.ts";
import { walletPath } from "./wallet.ts";

/** The parameters of the API. */
export interface ActivityFilter {
  act?: string | undefined;
  actor?: string | undefined;
  subject_id?: string | undefined;
}

export const activityQuery = (walletId: string, filter: ActivityFilter) =>
  infiniteQueryOptions({
    queryKey: ["wallet", walletId, "activity", filter],
    queryFn: ({ pageParam }) =>
      api<ActivityList>(walletPath(walletId, `activity?${toQuery({ ...filter, cursor: pageParam, limit: "50" })}`)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
  });

export function activityExportPath(walletId: string, filter: ActivityFilter): string {
  return walletPath(walletId, `activity.jsonl?${toQuery({ ...filter })}`);
}
