import type { Bound, MetricRow } from "./metric-row.ts";
import { exposedName, type MetricName, metricTable } from "./metric-table.ts";

const bounds: Record<Bound, string> = {
  upstreams: "the configured providers",
  tasks: "the tasks of the worker",
  replicas: "the `application_name` of each replica",
  hosts: "the hosts of the database URL",
  versions: "the version",
  runtime: "defined by Node",
  stanzas: "the stanza of pgBackRest",
};

/** docs/metrics.md. */
export function renderMetricsPage(): string {
  const section = (of: MetricRow["of"], title: string): string[] => [
    `## ${title}`,
    "",
    "| Metric | Type | Unit | Description | Labels |",
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
    "Each process exposes its metrics in the Prometheus format at `/metrics` on its internal listener. Label values never come",
    "from a caller, so the number of series is bounded. [Observability](observability.md) describes the setup, and the",
    "[runbooks](runbooks.md) explain what to do when an alert fires.",
    "",
    ...section("server", "Server metrics"),
    ...section("worker", "Worker metrics"),
    "A worker reads metrics about the database on every scrape, so it is enough to scrape one of several workers for those.",
    "",
    ...section("process", "Metrics of both"),
    "Metrics without the prefix `pennyblack_` have conventional names: `process_*` are those of the",
    "Prometheus client libraries, the others those of OpenTelemetry. `nodejs_eventloop_delay_*` and",
    "`nodejs_eventloop_utilization` cover the time since the last scrape, so two Prometheus servers each see a part of them.",
    "",
    ...section("drill", "Restore drill metrics"),
    "`npm run restore-drill -- --metrics FOLDER` writes them for the textfile collector of node_exporter.",
    "",
  ].join("\n");
}

function describe({ labels = {} }: MetricRow): string {
  return Object.entries(labels)
    .map(([label, values]) => `\`${label}\`: ${typeof values === "string" ? bounds[values] : listOf(values)}`)
    .join("; ");
}

function listOf(values: readonly string[]): string {
  return values.includes("caller_left")
    ? "`ok`, `caller_left`, `outcome_unknown` or a [problem code](problems.md)"
    : values.map((value) => `\`${value}\``).join(", ");
}
