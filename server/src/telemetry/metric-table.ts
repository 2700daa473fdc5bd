import { limitNames } from "../problems/exceeded-limit.ts";
import { isProblemCode, problemCodes, problemRow } from "../problems/problems.ts";
import type { MetricRow } from "./metric-row.ts";
import { processMetrics } from "./process-metric-table.ts";

// All metrics, with units and label values: the source of the instruments, of docs/metrics.md and of the tests. Label values
// come from our own tables, never from a caller, so the number of series is bounded.

const ledgerKinds = ["hold", "capture", "release"] as const;

export const metricTable = {
  ...processMetrics,
  pennyblack_search_requests: {
    kind: "counter",
    of: "server",
    unit: "requests",
    help: "Calls of search endpoints by outcome: ok, replayed, a problem code, or the reason the connection was closed without a response. Kind `search`: the price was held. `replay`: answered from its `Idempotency-Key`. `refusal`: rejected before the hold. `unknown`: the hold has an unknown outcome. `unauthenticated`: no key that can search.",
    labels: {
      kind: ["search", "replay", "refusal", "unknown", "unauthenticated"],
      outcome: ["ok", "replayed", "caller_left", "outcome_unknown", ...problemCodes],
      // "unauthenticated": the caller was not authenticated.
      mode: ["live", "test", "unauthenticated"],
      fault: ["none", "ours", "upstream", "caller"],
    },
  },
  pennyblack_requests_rejected_by_limit: {
    kind: "counter",
    of: "server",
    unit: "requests",
    help: "Requests rejected with 429, or with 503 `overloaded`, by the limit that they exceeded.",
    labels: { limit: limitNames },
  },
  pennyblack_data_keys_not_opened: {
    kind: "counter",
    of: "server",
    unit: "requests",
    help: "Requests rejected with 503 because no secret in `PENNYBLACK_SECRET` opens the data key of the wallet.",
  },
  pennyblack_searches_in_flight: {
    kind: "gauge",
    of: "server",
    unit: "searches",
    help: "Searches in flight, after the request limits.",
  },
  pennyblack_search_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "Duration of a call of a search endpoint, from the first byte of the request to the response.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  pennyblack_search_own_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "Duration of a live search without the time spent reading its body and waiting for upstreams. Caller errors are excluded.",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  },
  pennyblack_captured_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "Amount charged for successful searches.",
  },
  pennyblack_released_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "Amount held for failed searches and released.",
  },
  pennyblack_lost_captures: {
    kind: "counter",
    of: "server",
    unit: "searches",
    help: "Successful searches that were not charged, or whose charge is unknown. The operator bears their cost.",
    labels: { reason: ["expired", "unknown"] },
  },
  pennyblack_ledger_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "Duration of a hold, capture or release, including the time in the queue.",
    labels: { kind: ledgerKinds },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  pennyblack_ledger_batch_size: {
    kind: "histogram",
    of: "server",
    unit: "searches",
    help: "Searches per ledger statement.",
    labels: { kind: ledgerKinds },
    buckets: [1, 2, 5, 10, 25, 50, 100, 250],
  },
  pennyblack_ledger_waiting: {
    kind: "gauge",
    of: "server",
    unit: "searches",
    help: "Searches queued for the ledger. Holds have 2,000 slots, captures and releases 4,000 each.",
    labels: { lane: ["holds", "settlements"] },
  },
  pennyblack_upstream_calls: {
    kind: "counter",
    of: "server",
    unit: "calls",
    help: "Calls to upstreams by outcome: ok, or the reason for the failure.",
    labels: {
      upstream: "upstreams",
      outcome: [
        "ok",
        "status",
        "credential",
        "account_empty",
        "throttled",
        "timeout",
        "unreachable",
        "invalid_response",
        "aborted",
      ],
    },
  },
  pennyblack_upstream_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "Duration of a call to an upstream, including all pages.",
    labels: { upstream: "upstreams" },
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  pennyblack_upstream_cost_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "Cost of the calls sent to upstreams, whether they succeeded or not.",
    labels: { upstream: "upstreams" },
  },
  pennyblack_unpaid_upstream_calls: {
    kind: "counter",
    of: "server",
    unit: "calls",
    help: "Calls sent for searches that were not charged. Cause `caller`: abandoned, or timed out by `Prefer: wait`. Cause `rejected`: answered with a 2xx that is invalid or too large.",
    labels: { upstream: "upstreams", cause: ["caller", "rejected", "other"] },
  },
  pennyblack_upstream_alerts: {
    kind: "counter",
    of: "server",
    unit: "calls",
    help: "Calls that failed for a reason only the operator can fix.",
    labels: { upstream: "upstreams", reason: ["credential", "account_empty", "request"] },
  },
  pennyblack_upstream_circuit_open: {
    kind: "gauge",
    of: "server",
    unit: "1 or 0",
    help: "1 while the circuit of this upstream, or of each of its keys, is open and others are queried first.",
    labels: { upstream: "upstreams" },
  },
  pennyblack_upstream_cap_ratio: {
    kind: "gauge",
    of: "server",
    unit: "ratio",
    help: "Share of an upstream's cost cap that all servers have spent in the period. From 1 on, the upstream is not called. Absent without a cap.",
    labels: { upstream: "upstreams" },
  },
  pennyblack_reload_faults: {
    kind: "gauge",
    of: "server",
    unit: "faults",
    help: "Faults that made the last reload of lenses and upstreams fail.",
  },
  pennyblack_expired_holds: {
    kind: "counter",
    of: "worker",
    unit: "searches",
    help: "Expired holds ended by the sweeper, including those of test keys.",
  },
  pennyblack_expired_micro_usd: {
    kind: "counter",
    of: "worker",
    unit: "micro-USD",
    help: "Amount of the expired holds, returned to the wallets.",
  },
  pennyblack_skipped_holds_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds",
    help: "Time since the oldest hold that the last sweep skipped became due. A sweep skips the holds of locked wallets.",
  },
  pennyblack_task_success_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "Time of the last successful run of a task in this worker, or the start of the worker before the first one.",
    labels: { task: "tasks" },
  },
  pennyblack_task_failures: {
    kind: "counter",
    of: "worker",
    unit: "runs",
    help: "Failed task runs. Tasks are retried.",
    labels: { task: "tasks" },
  },
  pennyblack_reconciliation_differences: {
    kind: "gauge",
    of: "worker",
    unit: "differences",
    help: "Differences found by the last reconciliation of any worker.",
  },
  pennyblack_reconciliation_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "Time of the ledger snapshot that the last reconciliation compared.",
  },
  pennyblack_partition_days_ahead: {
    kind: "gauge",
    of: "worker",
    unit: "days",
    help: "Number of days ahead for which partitions exist.",
  },
  pennyblack_webhook_lag_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds",
    help: "Age of the oldest event or delivery that is due.",
  },
  pennyblack_usage_lag_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds",
    help: "How far the usage roll-up lags behind.",
  },
  pennyblack_usage_corrections: {
    kind: "counter",
    of: "worker",
    unit: "rows",
    help: "Usage rows corrected by a recount.",
  },
  pennyblack_database_primaries: {
    kind: "gauge",
    of: "worker",
    unit: "hosts",
    help: "Hosts of the worker's database URL that accept writes.",
  },
  pennyblack_database_diverged: {
    kind: "gauge",
    of: "worker",
    unit: "1",
    help: "1 if money was moved on a timeline that the host has and the primary lacks.",
    labels: { host: "hosts" },
  },
  pennyblack_replicas: {
    kind: "gauge",
    of: "worker",
    unit: "replicas",
    help: "Streaming replicas of the primary. Absent if the worker lacks the privilege to read them.",
  },
  pennyblack_replica_lag_bytes: {
    kind: "gauge",
    of: "worker",
    unit: "bytes",
    help: "WAL that a replica has not yet replayed.",
    labels: { replica: "replicas" },
  },
  pennyblack_wal_archived_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "When PostgreSQL archived the last WAL segment, or its start before the first one. Absent if archiving is off.",
  },
  pennyblack_wal_archive_failed_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "When PostgreSQL last failed to archive a WAL segment. Absent before the first failure.",
  },
  pennyblack_wal_archive_failures: {
    kind: "counter",
    of: "worker",
    unit: "attempts",
    help: "Failed attempts to archive a WAL segment. Absent if archiving is off.",
  },
  pennyblack_restore_drill_timestamp_seconds: {
    kind: "gauge",
    of: "drill",
    unit: "seconds since 1970",
    help: "When the last restore drill ended.",
    labels: { stanza: "stanzas" },
  },
  pennyblack_restore_drill_success_timestamp_seconds: {
    kind: "gauge",
    of: "drill",
    unit: "seconds since 1970",
    help: "When the last successful restore drill ended.",
    labels: { stanza: "stanzas" },
  },
  pennyblack_restore_drill_rpo_seconds: {
    kind: "gauge",
    of: "drill",
    unit: "seconds",
    help: "RPO of the last successful restore drill.",
    labels: { stanza: "stanzas" },
  },
  pennyblack_restore_drill_rto_seconds: {
    kind: "gauge",
    of: "drill",
    unit: "seconds",
    help: "RTO of the last successful restore drill.",
    labels: { stanza: "stanzas" },
  },
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof metricTable;

export type RequestKind = (typeof metricTable.pennyblack_search_requests.labels.kind)[number];

/** The party responsible for an outcome. Alerts fire for "ours" and "upstream". */
export function faultOf(outcome: string): (typeof metricTable.pennyblack_search_requests.labels.fault)[number] {
  if (outcome === "ok" || outcome === "replayed") return "none";
  if (outcome === "outcome_unknown") return "ours";
  if (!isProblemCode(outcome) || problemRow(outcome).status < 500) return "caller";
  // Without a configured upstream, the fault is ours.
  return outcome.startsWith("upstream_") && outcome !== "upstream_not_configured" ? "upstream" : "ours";
}

/** The name of a metric in Prometheus. */
export function exposedName(name: MetricName): string {
  return metricTable[name].kind === "counter" ? `${name}_total` : name;
}
