import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../../..");

type PrometheusProgram =
  | "prometheus"
  | "promtool"
  | "prometheus-alertmanager"
  | "prometheus-node-exporter"
  | "prometheus-postgres-exporter";

/** `.ci/run` unpacks Debian's packages if the machine has no Prometheus. */
export function findPrometheus(program: PrometheusProgram): string | undefined {
  const unpacked = resolve(root, ".pennyblack/prometheus/usr/bin", program);
  if (existsSync(unpacked)) return unpacked;
  return spawnSync(program, ["--version"]).status === 0 ? program : undefined;
}
