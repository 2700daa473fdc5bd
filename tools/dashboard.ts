// The Grafana dashboard. `npm run dashboard` writes deploy/grafana/dashboards/pennyblack.json from dashboard-panels.ts, and
// `npm run docs:pictures` draws the same panels for the docs. A test checks that every metric in the queries exists.

import { writeFileSync } from "node:fs";
import { type Panel, rows } from "./dashboard-panels.ts";

const columns = 3;
const panelHeight = 8;

/** The dashboard JSON for Grafana. */
export function renderDashboard(): string {
  const dashboard = {
    uid: "pennyblack",
    title: "Pennyblack",
    tags: ["pennyblack"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: {
      list: [
        { name: "source", type: "datasource", query: "prometheus", label: "Prometheus" },
        variable("cell", "Cell", "label_values(target_info, cell)"),
        variable("instance", "Instance", 'label_values(target_info{cell=~"$cell"}, instance)'),
      ],
    },
    panels: layOut(),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

function variable(name: string, label: string, query: string): object {
  return {
    name,
    label,
    type: "query",
    datasource,
    query: { query, refId: name },
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: ".*",
    current: { selected: true, text: "All", value: "$__all" },
  };
}

const datasource = { type: "prometheus", uid: "${source}" };

function layOut(): object[] {
  const all: object[] = [];
  let y = 0;
  for (const row of rows) {
    all.push({
      id: all.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
    });
    y += 1;
    for (const [index, panel] of row.panels.entries()) {
      const x = (index % columns) * (24 / columns);
      const down = Math.floor(index / columns) * panelHeight;
      all.push({
        id: all.length + 1,
        ...renderPanel(panel),
        gridPos: { x, y: y + down, w: 24 / columns, h: panelHeight },
      });
    }
    y += Math.ceil(row.panels.length / columns) * panelHeight;
  }
  return all;
}

function renderPanel({ title, unit, queries, threshold }: Panel): object {
  return {
    type: "timeseries",
    title,
    datasource,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        custom: {
          lineWidth: 1,
          fillOpacity: 8,
          showPoints: "never",
          ...(threshold && { thresholdsStyle: { mode: "dashed" } }),
        },
        ...(threshold && { thresholds: { mode: "absolute", steps: stepsOf(threshold) } }),
      },
      overrides: [],
    },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
    targets: queries.map(({ query, legend }, number) => ({
      refId: String.fromCharCode(65 + number),
      expr: query,
      legendFormat: legend,
      datasource,
    })),
  };
}

function stepsOf({ value, is }: NonNullable<Panel["threshold"]>): object[] {
  const [below, above] = is === "maximum" ? ["green", "red"] : ["red", "green"];
  return [
    { color: below, value: null },
    { color: above, value },
  ];
}

if (process.argv.includes("--write")) {
  writeFileSync(new URL("../deploy/grafana/dashboards/pennyblack.json", import.meta.url), renderDashboard());
}
