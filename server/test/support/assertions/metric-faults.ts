import { exposedName, type MetricName, type MetricRow, metricTable } from "../../../src/telemetry/metric-table.ts";

const rows = new Map<string, MetricRow>(
  (Object.keys(metricTable) as MetricName[]).map((name) => [exposedName(name), metricTable[name]]),
);
/** Database roles and the like, which are named as metrics are. */
const otherNames = /^pennyblack_(?:ledger|tenant|operator|people|owner|replica)$/;

/** What is wrong with the metrics that a text names: no such metric, no such label, or a word that the label never says. */
export function metricFaults(text: string): string[] {
  const found = text.matchAll(/\b(pennyblack_[a-z_]*[a-z])\b(?:\{([^}]*)\})?/g);
  return [...found].flatMap(([, name = "", matchers = ""]) => {
    const row = rows.get(name) ?? rows.get(name.replace(/_(?:bucket|count|sum)$/, ""));
    if (!row) return otherNames.test(name) ? [] : [`${name} is no metric`];
    return [...matchers.matchAll(/(\w+)\s*(?:=~|!=|=)\s*"([^"]*)"/g)].flatMap(([, label = "", said = ""]) => {
      const known = row.labels?.[label];
      if (!known) return [`${name} has no label ${label}`];
      if (typeof known === "string") return [];
      return said
        .split("|")
        .filter((word) => word !== "..." && !known.includes(word))
        .map((word) => `${name} is never ${label}="${word}"`);
    });
  });
}
