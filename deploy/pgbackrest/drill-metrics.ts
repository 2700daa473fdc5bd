import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type MetricName, metricTable } from "../../server/src/telemetry/metric-table.ts";
import type { DrillResult } from "./run-drill.ts";

const names = (Object.keys(metricTable) as MetricName[]).filter((name) => metricTable[name].of === "drill");

/**
 * Writes the result of a drill for the textfile collector of node_exporter, which serves `folder`. After a drill that failed,
 * `result` is undefined, and the figures of the last successful one are kept.
 */
export function writeDrillMetrics(
  folder: string,
  { stanza, result, now }: { stanza: string; result: DrillResult | undefined; now: Date },
): void {
  const file = join(folder, "pennyblack-restore-drill.prom");
  const endedAt = Math.floor(now.getTime() / 1_000);
  const values: Record<string, number> = result
    ? {
        pennyblack_restore_drill_success_timestamp_seconds: endedAt,
        pennyblack_restore_drill_rpo_seconds: result.rpoSeconds,
        pennyblack_restore_drill_rto_seconds: result.rtoSeconds,
      }
    : readValues(file);
  values["pennyblack_restore_drill_timestamp_seconds"] = endedAt;
  const lines = names
    .filter((name) => name in values)
    .flatMap((name) => [
      `# HELP ${name} ${metricTable[name].help}`,
      `# TYPE ${name} gauge`,
      `${name}{stanza=${JSON.stringify(stanza)}} ${values[name]}`,
    ]);
  // node_exporter must never read half a file, and may run under another account.
  writeFileSync(`${file}.${process.pid}`, `${lines.join("\n")}\n`);
  chmodSync(`${file}.${process.pid}`, 0o644);
  renameSync(`${file}.${process.pid}`, file);
}

function readValues(file: string): Record<string, number> {
  try {
    const samples = readFileSync(file, "utf8").matchAll(/^(\w+)\{.*\} (\S+)$/gm);
    return Object.fromEntries([...samples].map(([, name = "", value]) => [name, Number(value)]));
  } catch {
    // The first drill.
    return {};
  }
}
