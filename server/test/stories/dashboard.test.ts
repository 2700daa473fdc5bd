import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { panels, renderDashboard } from "../../../tools/dashboard.ts";
import { exposedName, type MetricName, type MetricRow, metricTable } from "../../src/telemetry/metric-table.ts";

const root = resolve(import.meta.dirname, "../../..");
const rules = readFileSync(join(root, "deploy/prometheus/rules/pennyblack.yml"), "utf8");

test("the dashboard is what npm run dashboard writes", () => {
  const kept = readFileSync(join(root, "deploy/grafana/dashboards/pennyblack.json"), "utf8");
  assert.deepEqual(JSON.parse(kept), JSON.parse(renderDashboard()), "run npm run dashboard");
});

test("every panel asks for metrics, labels and records that exist", () => {
  const names = Object.keys(metricTable) as MetricName[];
  const rowOf = (name: string): MetricRow | undefined => {
    const found = names.find((each) =>
      metricTable[each].kind === "histogram"
        ? ["_bucket", "_sum", "_count"].some((suffix) => name === each + suffix)
        : name === exposedName(each),
    );
    return found && metricTable[found];
  };
  for (const { title, queries } of panels) {
    for (const { query, legend } of queries) {
      for (const [record] of query.matchAll(/pennyblack:[\w:]+/g))
        assert.ok(rules.includes(`record: ${record}\n`), record);
      const metrics = [...query.matchAll(/\bpennyblack_\w+/g)].map(([name]) => name);
      const rows = metrics.map((name) => rowOf(name));
      assert.ok(!rows.includes(undefined), `${title}: one of ${metrics.join(", ")} is no metric`);
      const labels = new Set(["le", ...rows.flatMap((row) => Object.keys(row?.labels ?? {}))]);
      const asked = [
        ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
        ...[...query.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label = ""]) => label),
        ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label),
      ];
      for (const label of asked) assert.ok(labels.has(label), `${title}: no metric of it has a label ${label}`);
    }
  }
});

test("every metric but those of a detail is on the dashboard or in an alert", () => {
  const shown = panels.flatMap(({ queries }) => queries.map(({ query }) => query)).join(" ") + rules;
  const unseen = (Object.keys(metricTable) as MetricName[]).filter((name) => !shown.includes(name));
  assert.deepEqual(unseen, [
    "pennyblack_upstream_cost_micro_usd",
    "pennyblack_lens_faults",
    "pennyblack_expired_holds",
    "pennyblack_usage_corrections",
  ]);
});
