// The Grafana dashboard as data. `npm run dashboard` writes deploy/grafana/dashboards/pennyblack.json from it, and
// `npm run docs:pictures` draws the same panels for the docs. A test holds every query against the metrics there are.

import { writeFileSync } from "node:fs";

export interface Panel {
  title: string;
  /** As Grafana names units. */
  unit: string;
  queries: { query: string; legend: string }[];
}

const searches = 'pennyblack_searches_total{mode!="test"}[5m]';
const quantile = (share: number, metric: string, by: string): string =>
  `histogram_quantile(${share}, sum by (le${by && `, ${by}`}) (rate(${metric}_bucket[5m])))`;
const usdAnHour = (metric: string): string => `sum(rate(${metric}_total[5m])) * 3600 / 1e6`;

export const panels: Panel[] = [
  {
    title: "Searches by outcome",
    unit: "reqps",
    queries: [{ query: `sum by (outcome) (rate(${searches})) > 0`, legend: "{{outcome}}" }],
  },
  {
    title: "Share that fails",
    unit: "percentunit",
    queries: [
      { query: "pennyblack:own_errors:ratio_rate5m", legend: "by our own fault" },
      { query: "pennyblack:end_to_end_errors:ratio_rate5m", legend: "whoever is to blame" },
    ],
  },
  {
    title: "How long a search takes",
    unit: "s",
    queries: [0.5, 0.95, 0.99].map((share) => ({
      query: quantile(share, "pennyblack_search_duration_seconds", ""),
      legend: `${share * 100} %`,
    })),
  },
  {
    title: "Searches in flight",
    unit: "short",
    queries: [{ query: "sum(pennyblack_searches_in_flight)", legend: "in flight" }],
  },
  {
    title: "Money, USD an hour",
    unit: "currencyUSD",
    queries: ["captured", "released", "expired"].map((word) => ({
      query: usdAnHour(`pennyblack_${word}_micro_usd`),
      legend: word,
    })),
  },
  {
    title: "Worked and not charged",
    unit: "short",
    queries: [{ query: "sum by (reason) (increase(pennyblack_lost_captures_total[5m]))", legend: "{{reason}}" }],
  },
  {
    title: "The ledger's slowest hundredth",
    unit: "s",
    queries: [{ query: quantile(0.99, "pennyblack_ledger_duration_seconds", "kind"), legend: "{{kind}}" }],
  },
  {
    title: "Searches in one statement",
    unit: "short",
    queries: [
      {
        query:
          "sum by (kind) (rate(pennyblack_ledger_batch_size_sum[5m])) / sum by (kind) (rate(pennyblack_ledger_batch_size_count[5m]))",
        legend: "{{kind}}",
      },
    ],
  },
  {
    title: "Waiting for the ledger",
    unit: "short",
    queries: [{ query: "sum by (lane) (pennyblack_ledger_waiting)", legend: "{{lane}}" }],
  },
  {
    title: "Upstreams, by what came of it",
    unit: "reqps",
    queries: [
      {
        query: "sum by (upstream, outcome) (rate(pennyblack_upstream_calls_total[5m])) > 0",
        legend: "{{upstream}} {{outcome}}",
      },
    ],
  },
  {
    title: "Upstreams' slowest twentieth",
    unit: "s",
    queries: [{ query: quantile(0.95, "pennyblack_upstream_duration_seconds", "upstream"), legend: "{{upstream}}" }],
  },
  {
    title: "Upstreams put behind the others",
    unit: "short",
    queries: [{ query: "sum by (upstream) (pennyblack_upstream_circuit_open)", legend: "{{upstream}}, servers" }],
  },
  {
    title: "Since the books were compared",
    unit: "s",
    queries: [
      { query: "time() - max(pennyblack_reconciliation_timestamp_seconds)", legend: "age" },
      { query: "max(pennyblack_reconciliation_differences)", legend: "differences" },
    ],
  },
  {
    title: "Behind",
    unit: "s",
    queries: [
      { query: "max(pennyblack_usage_lag_seconds)", legend: "usage" },
      { query: "max(pennyblack_webhook_lag_seconds)", legend: "webhooks" },
      { query: 'time() - max(pennyblack_task_success_timestamp_seconds{task="sweep"})', legend: "sweep" },
    ],
  },
  {
    title: "Days that have partitions",
    unit: "short",
    queries: [{ query: "max(pennyblack_partition_days_ahead)", legend: "ahead" }],
  },
  {
    title: "Replicas behind",
    unit: "bytes",
    queries: [{ query: "max by (replica) (pennyblack_replica_lag_bytes)", legend: "{{replica}}" }],
  },
];

/** As Grafana imports it, three panels in a row. */
export function renderDashboard(): string {
  const dashboard = {
    uid: "pennyblack",
    title: "Pennyblack",
    tags: ["pennyblack"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: [{ name: "source", type: "datasource", query: "prometheus", label: "Prometheus" }] },
    panels: panels.map(({ title, unit, queries }, index) => ({
      id: index + 1,
      type: "timeseries",
      title,
      datasource: { type: "prometheus", uid: "${source}" },
      gridPos: { x: (index % 3) * 8, y: Math.floor(index / 3) * 8, w: 8, h: 8 },
      fieldConfig: {
        defaults: { unit, min: 0, custom: { lineWidth: 1, fillOpacity: 8, showPoints: "never" } },
        overrides: [],
      },
      options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
      targets: queries.map(({ query, legend }, number) => ({
        refId: String.fromCharCode(65 + number),
        expr: query,
        legendFormat: legend,
        datasource: { type: "prometheus", uid: "${source}" },
      })),
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

if (process.argv.includes("--write")) {
  writeFileSync(new URL("../deploy/grafana/dashboards/pennyblack.json", import.meta.url), renderDashboard());
}
