import type { Search, SearchDetails } from "@pennyblack/sdk";
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api } from "../api/client.ts";

// API of the internal listener. Queries refetch every ten seconds by default.

export interface UpstreamHour {
  start: string;
  calls: number;
  failures: number;
  p95_ms: number | null;
  open?: boolean;
}

export interface Circuit {
  state: "closed" | "open" | "trial";
  until: string | null;
}

export interface UpstreamKey {
  /** Its first and last four characters. */
  key: string;
  circuit: Circuit;
  /** Of the server that answers. */
  calls: number;
  failures: number;
  last_failure: Upstream["last_failure"];
}

export interface Upstream {
  name: string;
  documentation: string;
  circuit: Circuit;
  keys?: UpstreamKey[];
  /** The spending of all servers in the current period. */
  cap?: null | {
    period: "day" | "month";
    amount: string;
    spent: string;
    ratio: number;
    resets_at: string;
    is_shared: boolean;
  };
  recent: { calls: number; success_rate: number | null; p50_ms: number | null; p95_ms: number | null };
  money: { searches: number; price: string; revenue: string; cost: string; margin: string };
  last_failure: { reason: string; upstream_status: number | null; at: string } | null;
  /** Only if an operator database is configured. */
  hours?: UpstreamHour[];
  last_24_hours?: { calls: number; failures: number; p95_ms: number | null };
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

/** Upstream calls with their cost, and the revenue of the searches that were charged. */
export interface MarginFigures {
  /** Calls sent. */
  calls: number;
  /** Calls of searches that were not charged. */
  unpaid_calls: number;
  /** The unpaid calls whose caller left or set a deadline that passed. */
  abandoned_calls: number;
  revenue: string;
  cost: string;
  unpaid_cost: string;
  margin: string;
}

export interface MarginDay extends MarginFigures {
  day: string;
  provider: string;
}

export interface WalletMargin extends MarginFigures {
  wallet_id: string;
  name: string | null;
}

export interface WalletDay extends MarginFigures {
  day: string;
  /** Null for the total of all wallets that are not listed by day. */
  wallet_id: string | null;
}

export interface MarginReport {
  from: string;
  to: string;
  days: MarginDay[];
  wallets: WalletMargin[];
  unpaid_wallets: WalletMargin[];
  wallet_days: WalletDay[];
}

/** A line of the audit log, `act` as <subject>.<verb>. */
export interface AuditLine {
  number: number;
  at: string;
  operator: string;
  act: string;
  subject: string;
  account_id: string | null;
  wallet_id: string | null;
  reason: string | null;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** A change of a wallet or its account, by anyone. */
export interface ChangeLine extends Omit<AuditLine, "operator"> {
  actor: "operator" | "person" | "key" | "system";
  by: string | null;
}

/** The answer of a look-up in one cell. */
export interface Found {
  request: FoundRequest | null;
  /** Explains why no record has this id. */
  unknown: string | null;
  wallets: FoundWallet[];
  searches: (Search & { wallet_id: string })[];
  has_more: boolean;
}

export type FoundRequest = SearchDetails & {
  wallet_id: string;
  state: "pending" | "captured" | "released" | "expired" | "refused" | "replayed";
  upstreams: string | null;
};

export interface FoundWallet {
  id: string;
  name: string;
  account: { id: string; name: string; owners: string[]; deleted_at: string | null } | null;
  balance: string;
  suspended: boolean;
  keys: { id: string; name: string; start: string; mode: string; state: string }[];
}

/** In another cell, or why it could not be asked. */
export interface FoundInCell {
  name: string;
  url: string;
  fault: string | null;
  found: Found | null;
}

/** A server process with its current load. */
export interface ServerLine {
  id: string;
  host: string;
  pid: number;
  version: string;
  uptime_s: number;
  is_stopping: boolean;
  in_flight: number;
  searches_per_second: number;
  /** Of the last minute. Attempts are live requests without errors of the caller. */
  recent: {
    searches: number;
    replays: number;
    refusals: number;
    attempts: number;
    own_errors: number;
    upstream_errors: number;
    p95_ms: number | null;
  };
  ledger_waiting: number;
  event_loop_ms_p99: number;
  memory_mb: number;
}

/** A cell, or why it could not be read. */
export type CellStatus = { name: string; fault: string } | CellFigures;

export interface CellFigures {
  name: string;
  fault: null;
  versions: string[];
  servers: number;
  /** False if only the server that answered is counted. */
  is_complete: boolean;
  searches_per_second: number;
  in_flight: number;
  /** Null if the cell's database is unavailable, or not configured for operators. */
  customer_balance: string | null;
  charged_today: string | null;
  items: AttentionItem[];
}

/** Empty if no operator database is configured. */
export interface SystemStatus {
  db?: { connections: number; max: number; size_mb: number };
  oldest_pending_s?: number | null;
  partitions_ahead?: number;
  worker_last_seen?: string | null;
  reconciliation?: { at: string; differences: number } | null;
  usage_lag_s?: number;
  webhook_lag_s?: number;
  /** Null if WAL is not archived. */
  wal_archived_at?: string | null;
  /** Null if the operator's database role cannot read it. */
  backup?: { completed_at: string | null } | null;
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

/** The last days, by UTC day. With a wallet, its days only. */
export const marginQuery = (days: number, walletId?: string) =>
  queryOptions({
    queryKey: ["margin", days, walletId],
    queryFn: () => {
      const from = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
      return api<MarginReport>(`/operator/margin?from=${from}${walletId ? `&wallet=${walletId}` : ""}`);
    },
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  });

export const reconciliationQuery = queryOptions({
  queryKey: ["reconciliation"],
  queryFn: () => api<ReconciliationReport>("/operator/reconciliation"),
  refetchInterval: 60_000,
});

/** Not refetched while the page is hidden. */
export const serversQuery = queryOptions({
  queryKey: ["servers"],
  queryFn: () => api<{ servers: ServerLine[]; is_complete: boolean }>("/operator/servers"),
  refetchInterval: 2_000,
});

export const systemQuery = queryOptions({
  queryKey: ["system"],
  queryFn: () => api<SystemStatus>("/operator/system"),
});

/** Empty without PENNYBLACK_FLEET, which a running server does not read again. */
export const cellsQuery = queryOptions({
  queryKey: ["cells"],
  queryFn: () => api<{ cells: { name: string }[] }>("/operator/cells"),
  refetchInterval: false,
});

export const cellQuery = (name: string) =>
  queryOptions({
    queryKey: ["cells", name],
    queryFn: () => api<CellStatus>(`/operator/cells/${encodeURIComponent(name)}`),
  });

export const auditQuery = queryOptions({
  queryKey: ["audit"],
  queryFn: () => api<{ lines: AuditLine[]; next_cursor: string | null }>("/operator/audit?limit=100"),
});

export const accountsQuery = queryOptions({
  queryKey: ["accounts"],
  queryFn: () => api<{ accounts: AccountLine[] }>("/operator/accounts"),
  refetchInterval: false,
});

export const walletQuery = (id: string) =>
  queryOptions({ queryKey: ["wallets", id], queryFn: () => api<WalletLine>(`/operator/wallets/${id}`) });

export const changesQuery = (walletId: string) =>
  queryOptions({
    queryKey: ["changes", walletId],
    queryFn: () => api<{ changes: ChangeLine[] }>(`/operator/wallets/${walletId}/changes?limit=100`),
  });

/** `parameters` are those of GET /operator/find. */
export const findQuery = (parameters: string) =>
  queryOptions({
    queryKey: ["find", parameters],
    queryFn: () => api<Found>(`/operator/find?${parameters}`),
    refetchInterval: false,
  });

export const findInCellQuery = (name: string, parameters: string) =>
  queryOptions({
    queryKey: ["find", parameters, name],
    queryFn: () => api<FoundInCell>(`/operator/cells/${encodeURIComponent(name)}/find?${parameters}`),
    refetchInterval: false,
  });
