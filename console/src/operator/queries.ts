import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client.ts";

// API of the internal listener. Queries refetch every ten seconds by default.

export interface UpstreamHour {
  start: string;
  calls: number;
  failures: number;
  p95_ms: number | null;
  open?: boolean;
}

export interface Upstream {
  name: string;
  documentation: string;
  circuit: { state: "closed" | "open" | "trial"; until: string | null };
  recent: { calls: number; success_rate: number | null; p50_ms: number | null; p95_ms: number | null };
  money: { searches: number; price: string; revenue: string; cost: string; margin: string };
  last_failure: { reason: string; upstream_status: number | null; at: string } | null;
  /** Only if an operator database is configured. */
  hours?: UpstreamHour[];
  today?: { day: string; calls: number; cost: string; revenue: string; margin: string };
}

export interface AttentionItem {
  severity: "page" | "ticket";
  title: string;
  detail: string;
  runbook: string;
}

export interface AccountLine {
  id: string;
  name: string;
  owners: string[];
  wallets: { id: string; balance: string; suspended: boolean }[];
  created_at: string;
  deleted_at: string | null;
}

export interface WalletLine {
  id: string;
  name: string;
  balance: string;
  held: string;
  suspended: boolean;
  created_at: string;
}

export interface ReconciliationReport {
  last: null | {
    at: string;
    differences: number;
    checks: { name: string; sentence: string; compared: number; differing: number }[];
  };
  before: { at: string; differences: number }[];
}

export interface MarginDay {
  day: string;
  provider: string;
  calls: number;
  failures: Record<string, number>;
  /** Of all calls sent. `unpaid_cost` is the part for searches that were not charged. */
  cost: string;
  unpaid_cost: string;
  revenue: string;
  margin: string;
}

export interface WalletMargin {
  wallet_id: string;
  calls: number;
  abandoned_calls: number;
  revenue: string;
  paid_cost: string;
  unpaid_cost: string;
  margin: string;
}

export interface AuditLine {
  at: string;
  operator: string;
  act: string;
  wallet_id: string | null;
  target: string;
  reason: string;
  outcome: string;
}

export interface EntryLine {
  id: string;
  wallet_id: string;
  kind: string;
  amount: string;
  created_at: string;
}

export interface SystemMetrics {
  load: number[];
  memory_mb: number;
  event_loop_ms_p99: number;
  ledger_waiting: number;
  in_flight: number;
  searches_per_second: number;
  /** The following are present only if an operator database is configured. */
  db?: { connections: number; max: number; size_mb: number };
  oldest_pending_s?: number | null;
  partitions_ahead?: number;
  worker_last_seen?: string | null;
}

export const operatorQuery = queryOptions({
  queryKey: ["operator"],
  queryFn: () => api<{ operator: string | null }>("/operator/session"),
  refetchInterval: false,
});

export const upstreamsQuery = queryOptions({
  queryKey: ["upstreams"],
  queryFn: () => api<{ upstreams: Upstream[] }>("/operator/upstreams"),
});

export const attentionQuery = queryOptions({
  queryKey: ["attention"],
  queryFn: () => api<{ items: AttentionItem[] }>("/operator/attention"),
});

export const marginQuery = queryOptions({
  queryKey: ["margin"],
  queryFn: () => api<{ charged: string; days: MarginDay[]; wallets: WalletMargin[] }>("/operator/margin"),
  refetchInterval: 60_000,
});

export const reconciliationQuery = queryOptions({
  queryKey: ["reconciliation"],
  queryFn: () => api<ReconciliationReport>("/operator/reconciliation"),
  refetchInterval: 60_000,
});

export const systemQuery = queryOptions({
  queryKey: ["system"],
  queryFn: () => api<SystemMetrics>("/operator/system"),
  refetchInterval: 5_000,
});

export const auditQuery = queryOptions({
  queryKey: ["audit"],
  queryFn: () => api<{ lines: AuditLine[]; next_cursor: string | null }>("/operator/audit?limit=100"),
});

export const accountsQuery = (email: string) =>
  queryOptions({
    queryKey: ["accounts", email],
    queryFn: () =>
      api<{ accounts: AccountLine[] }>(`/operator/accounts${email ? `?email=${encodeURIComponent(email)}` : ""}`),
    refetchInterval: false,
  });

export const walletQuery = (id: string) =>
  queryOptions({ queryKey: ["wallets", id], queryFn: () => api<WalletLine>(`/operator/wallets/${id}`) });

export const entriesQuery = (requestId: string) =>
  queryOptions({
    queryKey: ["entries", requestId],
    queryFn: () => api<{ entries: EntryLine[] }>(`/operator/entries?request_id=${encodeURIComponent(requestId)}`),
    refetchInterval: false,
  });
