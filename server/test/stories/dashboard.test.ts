import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { renderDashboard } from "../../../tools/dashboard.ts";
import { panels } from "../../../tools/dashboard-panels.ts";
import { type MetricName, metricTable } from "../../src/telemetry/metric-table.ts";
import { findMetric, metricFaults } from "../support/assertions/metric-faults.ts";
import { readRules } from "../support/docs/read-rules.ts";

const root = resolve(import.meta.dirname, "../../..");
const rules = readRules(join(root, "deploy/prometheus/rules"));

test("the dashboard is what npm run dashboard writes", () => {
  const committed = readFileSync(join(root, "deploy/grafana/dashboards/pennyblack.json"), "utf8");
  assert.deepEqual(JSON.parse(committed), JSON.parse(renderDashboard()), "run npm run dashboard");
});

/** Those that Prometheus and the exporters add. alert-delivery.test.ts checks the metrics of the exporters. */
const otherLabels = ["le", "cell", "instance", "mountpoint", "device", "stanza"];

test("every panel uses existing metrics, labels and recording rules, and selects the cell", () => {
  for (const { title, queries } of panels) {
    for (const { query, legend } of queries) {
      for (const [record] of query.matchAll(/pennyblack:[\w:]+/g))
        assert.ok(rules.includes(`record: ${record}\n`), record);
      assert.deepEqual(metricFaults(query), [], title);
      assert.match(query, /\{cell=~"\$cell"/, title);
      const metrics = [...query.matchAll(/\b(?:pennyblack|process|nodejs|v8js|db_client)_\w+(?=\{)/g)].map(
        ([name]) => name,
      );
      assert.ok(metrics.every(findMetric), `${title}: one of ${metrics.join(", ")} is not a series`);
      const labels = new Set([
        ...otherLabels,
        ...metrics.flatMap((name) => Object.keys(findMetric(name)?.labels ?? {})),
      ]);
      const used = [
        ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
        ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
      ];
      for (const label of used) assert.ok(labels.has(label), `${title}: none of its metrics has a label ${label}`);
    }
  }
});

test("a threshold of a panel is one of an alert", () => {
  for (const { title, threshold } of panels) {
    if (threshold === undefined) continue;
    const products = [...rules.matchAll(/[<>=]=? ((?:[\d.]+ \* )*[\d.]+)/g)].map(([, text = ""]) =>
      text.split(" * ").reduce((product, factor) => product * Number(factor), 1),
    );
    // Those without a separate alert.
    const others = [
      "CPU of each process (cores)",
      "Ledger batch size",
      "Redis, OpenID Connect and mail (1 is available)",
    ];
    assert.ok(others.includes(title) || products.includes(threshold.value), `${title}: ${threshold.value}`);
  }
});

test("every metric except a few details is on the dashboard or in an alert", () => {
  const shown = panels.flatMap(({ queries }) => queries.map(({ query }) => query)).join(" ") + rules;
  const unseen = (Object.keys(metricTable) as MetricName[]).filter((name) => !shown.includes(name));
  assert.deepEqual(unseen, [
    "db_client_connection_max",
    "process_open_fds",
    "process_max_fds",
    "nodejs_eventloop_utilization",
    "nodejs_eventloop_time",
    "nodejs_eventloop_delay_min",
    "nodejs_eventloop_delay_max",
    "nodejs_eventloop_delay_mean",
    "nodejs_eventloop_delay_stddev",
    "nodejs_eventloop_delay_p50",
    "nodejs_eventloop_delay_p90",
    "v8js_memory_heap_space_size",
    "v8js_memory_heap_used",
    "v8js_memory_heap_space_available_size",
    "v8js_memory_heap_space_physical_size",
    "v8js_resource_active",
    "pennyblack_reload_faults",
    "pennyblack_expired_holds",
    "pennyblack_usage_corrections",
    "pennyblack_wal_archive_failures",
    "pennyblack_restore_drill_rpo_seconds",
    "pennyblack_restore_drill_rto_seconds",
  ]);
});
