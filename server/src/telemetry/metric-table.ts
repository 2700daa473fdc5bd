import { isProblemCode, problemCodes, problemRow } from "../problems.ts";

// Every metric there is, its unit and what its labels can say: the instruments, docs/metrics.md and the tests come from
// it. A label is a word from one of our own tables, never from a caller, so the number of series has an end.

export interface MetricRow {
  kind: "counter" | "gauge" | "histogram";
  of: "server" | "worker";
  unit: string;
  /** Ends with a full stop. */
  help: string;
  labels?: Readonly<Record<string, readonly string[] | Bound>>;
  buckets?: readonly number[];
}

/** Words that this file cannot know, because they are the operator's or another room's. */
export type Bound = "upstreams" | "tasks" | "replicas";

const ledgerKinds = ["hold", "capture", "release"] as const;

export const metricTable = {
  pennyblack_searches: {
    kind: "counter",
    of: "server",
    unit: "searches",
    help: "Searches by outcome: ok, a problem code, or how the connection ended without an answer.",
    labels: {
      outcome: ["ok", "caller_left", "outcome_unknown", ...problemCodes],
      // Nobody, before the key is known.
      mode: ["live", "test", "nobody"],
      fault: ["none", "ours", "upstream", "caller"],
    },
  },
  pennyblack_searches_in_flight: {
    kind: "gauge",
    of: "server",
    unit: "searches",
    help: "Searches that have passed the limits and are not answered yet.",
  },
  pennyblack_search_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "From the first byte of a search to its answer.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  pennyblack_captured_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "Money charged for searches that worked.",
  },
  pennyblack_released_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "Money held for searches that failed, and given back.",
  },
  pennyblack_lost_captures: {
    kind: "counter",
    of: "server",
    unit: "searches",
    help: "Searches that worked and were not charged, or not known to be: what they cost is ours.",
    labels: { reason: ["expired", "unknown"] },
  },
  pennyblack_ledger_duration_seconds: {
    kind: "histogram",
    of: "server",
    unit: "seconds",
    help: "From a hold, capture or release wished for to its result, waiting included.",
    labels: { kind: ledgerKinds },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  pennyblack_ledger_batch_size: {
    kind: "histogram",
    of: "server",
    unit: "searches",
    help: "Searches in one statement to the ledger.",
    labels: { kind: ledgerKinds },
    buckets: [1, 2, 5, 10, 25, 50, 100, 250],
  },
  pennyblack_ledger_waiting: {
    kind: "gauge",
    of: "server",
    unit: "searches",
    help: "Searches that wait for the ledger. Holds have 2,000 places, captures and releases 4,000 each.",
    labels: { lane: ["holds", "settlements"] },
  },
  pennyblack_upstream_calls: {
    kind: "counter",
    of: "server",
    unit: "calls",
    help: "Calls to upstreams by outcome: ok or the reason of the failure.",
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
    help: "From a search sent to an upstream to its answer, all pages included.",
    labels: { upstream: "upstreams" },
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  pennyblack_upstream_cost_micro_usd: {
    kind: "counter",
    of: "server",
    unit: "micro-USD",
    help: "What upstreams charge for their answers.",
    labels: { upstream: "upstreams" },
  },
  pennyblack_upstream_alerts: {
    kind: "counter",
    of: "server",
    unit: "calls",
    help: "Calls that failed for a reason that only the operator can remove.",
    labels: { upstream: "upstreams", reason: ["credential", "account_empty", "request"] },
  },
  pennyblack_upstream_circuit_open: {
    kind: "gauge",
    of: "server",
    unit: "1 or 0",
    help: "1 while others are asked before this upstream.",
    labels: { upstream: "upstreams" },
  },
  pennyblack_lens_faults: {
    kind: "gauge",
    of: "server",
    unit: "faults",
    help: "Faults that kept the last edit of the lenses from being used.",
  },
  pennyblack_expired_holds: {
    kind: "counter",
    of: "worker",
    unit: "searches",
    help: "Holds whose life was over and that the sweeper ended, those of test keys included.",
  },
  pennyblack_expired_micro_usd: {
    kind: "counter",
    of: "worker",
    unit: "micro-USD",
    help: "Money that those holds held, and that went back to its wallets.",
  },
  pennyblack_task_success_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "When this worker last ended a task well; when it started, if it has not yet.",
    labels: { task: "tasks" },
  },
  pennyblack_task_failures: {
    kind: "counter",
    of: "worker",
    unit: "runs",
    help: "Tasks that failed. They are tried again.",
    labels: { task: "tasks" },
  },
  pennyblack_reconciliation_differences: {
    kind: "gauge",
    of: "worker",
    unit: "differences",
    help: "What the last reconciliation found, by whichever worker.",
  },
  pennyblack_reconciliation_timestamp_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds since 1970",
    help: "The moment of the books that the last reconciliation compared.",
  },
  pennyblack_partition_days_ahead: {
    kind: "gauge",
    of: "worker",
    unit: "days",
    help: "Days from today that have their partitions.",
  },
  pennyblack_webhook_lag_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds",
    help: "How long the event or delivery that has been due for longest has waited.",
  },
  pennyblack_usage_lag_seconds: {
    kind: "gauge",
    of: "worker",
    unit: "seconds",
    help: "Usage is counted up to this long ago.",
  },
  pennyblack_usage_corrections: {
    kind: "counter",
    of: "worker",
    unit: "rows",
    help: "Rows of usage that a recount put right.",
  },
  pennyblack_replicas: {
    kind: "gauge",
    of: "worker",
    unit: "replicas",
    help: "Replicas that receive what this PostgreSQL writes. Absent where the worker may not ask.",
  },
  pennyblack_replica_lag_bytes: {
    kind: "gauge",
    of: "worker",
    unit: "bytes",
    help: "What a replica has not applied yet.",
    labels: { replica: "replicas" },
  },
} as const satisfies Record<string, MetricRow>;

export type MetricName = keyof typeof metricTable;

/** Whose fault it is that a search ended this way. Alerts are about ours and the upstreams'. */
export function faultOf(outcome: string): (typeof metricTable.pennyblack_searches.labels.fault)[number] {
  if (outcome === "ok") return "none";
  if (outcome === "outcome_unknown") return "ours";
  if (!isProblemCode(outcome) || problemRow(outcome).status < 500) return "caller";
  // No upstream had a part in that one: there is none.
  return outcome.startsWith("upstream_") && outcome !== "upstream_not_configured" ? "upstream" : "ours";
}

const bounds: Record<Bound, string> = {
  upstreams: "the providers that are configured",
  tasks: "the tasks of the worker",
  replicas: "the application name of each replica",
};

/** The name under which Prometheus sees a metric. */
export function exposedName(name: MetricName): string {
  return metricTable[name].kind === "counter" ? `${name}_total` : name;
}

/** docs/metrics.md. */
export function renderMetricsPage(): string {
  const section = (of: MetricRow["of"], title: string): string[] => [
    `## ${title}`,
    "",
    "| Metric | Kind | Unit | Says | Labels |",
    "|---|---|---|---|---|",
    ...(Object.entries(metricTable) as [MetricName, MetricRow][])
      .filter(([, row]) => row.of === of)
      .map(
        ([name, row]) => `| \`${exposedName(name)}\` | ${row.kind} | ${row.unit} | ${row.help} | ${describe(row)} |`,
      ),
    "",
  ];
  return [
    "<!-- Generated from server/src/telemetry/metric-table.ts by `npm run generate`. -->",
    "",
    "# Metrics",
    "",
    "Each process shows its own on `/metrics` of its internal listener, in the format that Prometheus scrapes. A label is a",
    "word from a table of ours, never from a caller, so the number of series has an end. What to look at first is in",
    "[Observability](observability.md); what to do when one of them is wrong, in the [runbooks](runbooks.md).",
    "",
    ...section("server", "Of a server"),
    ...section("worker", "Of a worker"),
    "What a worker says of the database it asks when it is scraped, so that any one of several workers can answer for all.",
    "",
  ].join("\n");
}

function describe({ labels = {} }: MetricRow): string {
  return Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === "string" ? bounds[values] : listOf(values)}`)
    .join("; ");
}

function listOf(values: readonly string[]): string {
  return values.length > 12 ? "`ok`, `caller_left`, `outcome_unknown` or a [problem code](problems.md)" : words(values);
}

function words(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(", ");
}
