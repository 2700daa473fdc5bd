import { readdirSync, readFileSync } from "node:fs";
import type { Pool } from "pg";
import type { Meter } from "./meter.ts";
import type { processMetrics } from "./process-metric-table.ts";

/** Metrics of both servers and workers. */
export interface ProcessMetrics {
  watchClock: (readOffsetSeconds: () => number) => void;
  watchPools: (pools: Readonly<Record<string, Pool | undefined>>) => void;
  watchDependency: (dependency: Dependency, isAvailable: () => boolean) => void;
}

type Dependency = (typeof processMetrics.pennyblack_dependency_up.labels.dependency)[number];

export function createProcessMetrics(meter: Meter): ProcessMetrics {
  watchProcess(meter);
  const clockOffset = meter.observableGauge("pennyblack_clock_offset_seconds");
  const dependencyUp = meter.observableGauge("pennyblack_dependency_up");
  return {
    watchClock: (readOffsetSeconds) => clockOffset.addCallback((gauge) => gauge.observe(readOffsetSeconds())),
    watchPools: (pools) => watchPools(meter, pools),
    watchDependency: (dependency, isAvailable) =>
      dependencyUp.addCallback((gauge) => gauge.observe(isAvailable() ? 1 : 0, { dependency })),
  };
}

function watchProcess(meter: Meter): void {
  const startedAt = Date.now() / 1_000 - process.uptime();
  meter.gauge("process_start_time_seconds").record(startedAt);
  meter.observableCounter("process_cpu_seconds").addCallback((counter) => {
    const { user, system } = process.cpuUsage();
    counter.observe((user + system) / 1e6);
  });
  meter
    .observableGauge("process_resident_memory_bytes")
    .addCallback((gauge) => gauge.observe(process.memoryUsage.rss()));
  if (process.platform !== "linux") return;
  const [, maxFiles] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  if (maxFiles !== undefined) meter.gauge("process_max_fds").record(Number(maxFiles));
  // Without the one that reads the folder.
  meter
    .observableGauge("process_open_fds")
    .addCallback((gauge) => gauge.observe(readdirSync("/proc/self/fd").length - 1));
}

function watchPools(meter: Meter, pools: Readonly<Record<string, Pool | undefined>>): void {
  const count = meter.observableGauge("db_client_connection_count");
  const max = meter.observableGauge("db_client_connection_max");
  const pending = meter.observableGauge("db_client_connection_pending_requests");
  meter.watch(
    (result) => {
      for (const [name, pool] of Object.entries(pools)) {
        if (!pool) continue;
        const labels = { db_client_connection_pool_name: name };
        const [idle, used] = [pool.idleCount, pool.totalCount - pool.idleCount];
        result.observe(count, idle, { ...labels, db_client_connection_state: "idle" });
        result.observe(count, used, { ...labels, db_client_connection_state: "used" });
        result.observe(max, pool.options.max, labels);
        result.observe(pending, pool.waitingCount, labels);
      }
    },
    [count, max, pending],
  );
}
