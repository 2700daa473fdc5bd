import type { MetricRow } from "../../../src/telemetry/metric-row.ts";
import { exposedName, type MetricName, metricTable } from "../../../src/telemetry/metric-table.ts";

const rows = new Map<string, MetricRow>(
  (Object.keys(metricTable) as MetricName[]).map((name) => [exposedName(name), metricTable[name]]),
);
/** Database roles have names that look like metrics. */
const otherNames = /^pennyblack_(?:ledger|tenant|payments|operator|people|worker|owner|replica)$/;
/** Names of labels look like metrics, too. */
const labelNames = new Set([...rows.values()].flatMap(({ labels = {} }) => Object.keys(labels)));
const metricNames = /\b((?:pennyblack|process|nodejs|v8js|db_client|target)_[a-z0-9_]*[a-z0-9])\b(?:\{([^}]*)\})?/g;

/** The metric of a series. A histogram's series have a suffix. */
export function findMetric(series: string): MetricRow | undefined {
  const histogram = rows.get(series.replace(/_(?:bucket|count|sum)$/, ""));
  if (histogram?.kind !== "histogram") return rows.get(series);
  return rows.has(series) ? undefined : histogram;
}

/** Metrics, labels and label values in a text that do not exist. */
export function metricFaults(text: string): string[] {
  return [...text.matchAll(metricNames)].flatMap(([, name = "", matchers = ""]) => {
    const row = rows.get(name) ?? findMetric(name);
    if (!row) return otherNames.test(name) || labelNames.has(name) ? [] : [`${name} is not a metric`];
    return [...matchers.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"([^"]*)"/g)].flatMap(([, label = "", values = ""]) => {
      // Prometheus adds these.
      if (["cell", "job", "instance"].includes(label)) return [];
      const known = label === "le" ? row.buckets?.map(String) : row.labels?.[label];
      if (!known) return [`${name} has no label ${label}`];
      if (typeof known === "string") return [];
      return values
        .split("|")
        .filter((word) => word !== "..." && !known.includes(word))
        .map((word) => `${name} is never ${label}="${word}"`);
    });
  });
}
