import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../../../..");

/** `.ci/run` unpacks Debian's package if the machine has no Prometheus. */
export function findPrometheus(program: "prometheus" | "promtool"): string | undefined {
  const unpacked = resolve(root, ".pennyblack/prometheus/usr/bin", program);
  if (existsSync(unpacked)) return unpacked;
  return spawnSync(program, ["--version"]).status === 0 ? program : undefined;
}
