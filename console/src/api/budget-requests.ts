import type { Budget } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";
import { walletPath } from "./wallet.ts";

type Increase = NonNullable<Budget["increase"]>;

/** A key asks for more of a shared budget. */
export interface IncreaseRequest {
  id: string;
  mode: Budget["mode"];
  /** To add to each period. */
  amount: string;
  hours: number;
  created_at: string;
  state: "open" | "approved" | "denied" | "expired";
  key: { id: string; name: string };
  budget: Pick<Budget, "id" | "name" | "amount" | "period"> & { spent: string; increase: Increase | null };
}

/** An approval: the raise that applies now, and the one that it has replaced. */
export interface Decision {
  increase: Increase | null;
  replaced: Increase | null;
}

/** The requests of the last 30 days, newest first. */
export const budgetRequestsQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["wallet", walletId, "budget-requests"],
    queryFn: () => api<{ requests: IncreaseRequest[] }>(walletPath(walletId, "budget-requests")),
    refetchInterval: 15_000,
  });
