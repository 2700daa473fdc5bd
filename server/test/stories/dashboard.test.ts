import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { panels, renderDashboard } from "../../../tools/dashboard.ts";
import { type MetricName, metricTable } from "../../src/telemetry/metric-table.ts";
import { findMetric, metricFaults } from "../support/assertions/metric-faults.ts";

const root = resolve(import.meta.dirname, "../../..");
const rules = readFileSync(join(root, "deploy/prometheus/rules/pennyblack.yml"), "utf8");

test("the dashboard is what npm run dashboard writes", () => {
  const committed = readFileSync(join(root, "deploy/grafana/dashboards/pennyblack.json"), "utf8");
  assert.deepEqual(JSON.parse(committed), JSON.parse(renderDashboard()), "run npm run dashboard");
});

test("every panel uses existing metrics, labels and recording rules", () => {
  for (const { title, queries } of panels) {
    for (const { query, legend } of queries) {
      for (const [record] of query.matchAll(/pennyblack:[\w:]+/g))
        assert.ok(rules.includes(`record: ${record}\n`), record);
      assert.deepEqual(metricFaults(query), [], title);
      const metrics = [...query.matchAll(/\bpennyblack_\w+/g)].map(([name]) => name);
      assert.ok(metrics.every(findMetric), `${title}: one of ${metrics.join(", ")} is not a series`);
      const labels = new Set(["le", ...metrics.flatMap((name) => Object.keys(findMetric(name)?.labels ?? {}))]);
      const used = [
        ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
        ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
      ];
      for (const label of used) assert.ok(labels.has(label), `${title}: none of its metrics has a label ${label}`);
    }
  }
});

test("every metric except five details is on the dashboard or in an alert", () => {
  const shown = panels.flatMap(({ queries }) => queries.map(({ query }) => query)).join(" ") + rules;
  const unseen = (Object.keys(metricTable) as MetricName[]).filter((name) => !shown.includes(name));
  assert.deepEqual(unseen, [
    "pennyblack_upstream_cost_micro_usd",
    "pennyblack_reload_faults",
    "pennyblack_expired_holds",
    "pennyblack_usage_corrections",
    "pennyblack_wal_archive_failures",
  ]);
});
