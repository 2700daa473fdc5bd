import { exposedName, type MetricName, type MetricRow, metricTable } from "../../../src/telemetry/metric-table.ts";

const rows = new Map<string, MetricRow>(
  (Object.keys(metricTable) as MetricName[]).map((name) => [exposedName(name), metricTable[name]]),
);
/** Database roles have names that look like metrics. */
const otherNames = /^pennyblack_(?:ledger|tenant|payments|operator|people|worker|owner|replica)$/;

/** The metric of a series. A histogram's series have a suffix. */
export function findMetric(series: string): MetricRow | undefined {
  const histogram = rows.get(series.replace(/_(?:bucket|count|sum)$/, ""));
  if (histogram?.kind !== "histogram") return rows.get(series);
  return rows.has(series) ? undefined : histogram;
}

/** Metrics, labels and label values in a text that do not exist. */
export function metricFaults(text: string): string[] {
  const found = text.matchAll(/\b(pennyblack_[a-z_]*[a-z])\b(?:\{([^}]*)\})?/g);
  return [...found].flatMap(([, name = "", matchers = ""]) => {
    const row = rows.get(name) ?? findMetric(name);
    if (!row) return otherNames.test(name) ? [] : [`${name} is not a metric`];
    return [...matchers.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"([^"]*)"/g)].flatMap(([, label = "", values = ""]) => {
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
