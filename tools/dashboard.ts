// Source of the Grafana dashboard. `npm run dashboard` writes deploy/grafana/dashboards/pennyblack.json, and
// `npm run docs:pictures` draws the same panels for the docs. A test checks that every metric in the queries exists.

import { writeFileSync } from "node:fs";

export interface Panel {
  title: string;
  /** A Grafana unit. */
  unit: string;
  queries: { query: string; legend: string }[];
}

const searches = 'pennyblack_searches_total{mode!="test"}[5m]';
const quantile = (share: number, metric: string, by: string): string =>
  `histogram_quantile(${share}, sum by (le${by && `, ${by}`}) (rate(${metric}_bucket[5m])))`;
const usdPerHour = (metric: string): string => `sum(rate(${metric}_total[5m])) * 3600 / 1e6`;

export const panels: Panel[] = [
  {
    title: "Searches by outcome",
    unit: "reqps",
    queries: [{ query: `sum by (outcome) (rate(${searches})) > 0`, legend: "{{outcome}}" }],
  },
  {
    title: "Error rate",
    unit: "percentunit",
    queries: [
      { query: "pennyblack:own_errors:ratio_rate5m", legend: "server errors" },
      { query: "pennyblack:end_to_end_errors:ratio_rate5m", legend: "including upstream errors" },
    ],
  },
  {
    title: "Search latency",
    unit: "s",
    queries: [0.5, 0.95, 0.99].map((share) => ({
      query: quantile(share, "pennyblack_search_duration_seconds", ""),
      legend: `p${share * 100}`,
    })),
  },
  {
    title: "Searches in flight",
    unit: "short",
    queries: [{ query: "sum(pennyblack_searches_in_flight)", legend: "in flight" }],
  },
  {
    title: "Requests rejected by limit",
    unit: "reqps",
    queries: [
      { query: "sum by (limit) (rate(pennyblack_requests_rejected_by_limit_total[5m])) > 0", legend: "{{limit}}" },
    ],
  },
  {
    title: "Holds by result (USD per hour)",
    unit: "currencyUSD",
    queries: ["captured", "released", "expired"].map((kind) => ({
      query: usdPerHour(`pennyblack_${kind}_micro_usd`),
      legend: kind,
    })),
  },
  {
    title: "Successful searches not charged",
    unit: "short",
    queries: [{ query: "sum by (reason) (increase(pennyblack_lost_captures_total[5m]))", legend: "{{reason}}" }],
  },
  {
    title: "Ledger latency (p99)",
    unit: "s",
    queries: [{ query: quantile(0.99, "pennyblack_ledger_duration_seconds", "kind"), legend: "{{kind}}" }],
  },
  {
    title: "Ledger batch size",
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
    title: "Ledger queue length",
    unit: "short",
    queries: [{ query: "sum by (lane) (pennyblack_ledger_waiting)", legend: "{{lane}}" }],
  },
  {
    title: "Upstream calls by outcome",
    unit: "reqps",
    queries: [
      {
        query: "sum by (upstream, outcome) (rate(pennyblack_upstream_calls_total[5m])) > 0",
        legend: "{{upstream}} {{outcome}}",
      },
    ],
  },
  {
    title: "Upstream latency (p95)",
    unit: "s",
    queries: [{ query: quantile(0.95, "pennyblack_upstream_duration_seconds", "upstream"), legend: "{{upstream}}" }],
  },
  {
    title: "Open upstream circuits",
    unit: "short",
    queries: [{ query: "sum by (upstream) (pennyblack_upstream_circuit_open)", legend: "{{upstream}} (servers)" }],
  },
  {
    title: "Last reconciliation",
    unit: "s",
    queries: [
      { query: "time() - max(pennyblack_reconciliation_timestamp_seconds)", legend: "age" },
      { query: "max(pennyblack_reconciliation_differences)", legend: "differences" },
    ],
  },
  {
    title: "Background job lag",
    unit: "s",
    queries: [
      { query: "max(pennyblack_usage_lag_seconds)", legend: "usage" },
      { query: "max(pennyblack_webhook_lag_seconds)", legend: "webhooks" },
      { query: 'time() - max(pennyblack_task_success_timestamp_seconds{task="sweep"})', legend: "sweep" },
    ],
  },
  {
    title: "Partitions created ahead (days)",
    unit: "short",
    queries: [{ query: "max(pennyblack_partition_days_ahead)", legend: "days ahead" }],
  },
  {
    title: "Replica lag",
    unit: "bytes",
    queries: [{ query: "max by (replica) (pennyblack_replica_lag_bytes)", legend: "{{replica}}" }],
  },
];

/** The dashboard JSON for Grafana, with three panels per row. */
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
