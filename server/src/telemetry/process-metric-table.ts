import { serverConnections, workerConnections } from "../db/connection-counts.ts";
import type { MetricRow } from "./metric-row.ts";

// Metrics that servers and workers share. Those without the prefix pennyblack_ have the names that other programs give
// them: target_info, db_client_*, nodejs_* and v8js_* are OpenTelemetry's, process_* are Prometheus'. The instruments of nodejs_* and
// v8js_* are created by @opentelemetry/instrumentation-runtime-node.

const pool = "db_client_connection_pool_name";
const pools = [...new Set([...Object.keys(serverConnections), ...Object.keys(workerConnections)])];
const heapSpace = { v8js_heap_space_name: "runtime" } as const;

export const processMetrics = {
  target_info: {
    kind: "gauge",
    of: "process",
    unit: "1",
    help: "The build: version of Pennyblack and of Node. Always 1.",
    labels: { service_name: ["pennyblack"], service_version: "versions", process_runtime_version: "versions" },
  },
  pennyblack_dependency_up: {
    kind: "gauge",
    of: "process",
    unit: "1 or 0",
    help: "1 if the service responded to the last check. Redis and the OpenID Connect provider are checked by servers, the mail server by workers. Absent if not configured.",
    labels: { dependency: ["redis", "oidc", "smtp"] },
  },
  pennyblack_clock_offset_seconds: {
    kind: "gauge",
    of: "process",
    unit: "seconds",
    help: "How far the clock of this machine is ahead of the database's. Negative if it is behind.",
  },
  db_client_connection_count: {
    kind: "gauge",
    of: "process",
    unit: "connections",
    help: "Open connections to PostgreSQL.",
    labels: { [pool]: pools, db_client_connection_state: ["idle", "used"] },
  },
  db_client_connection_max: {
    kind: "gauge",
    of: "process",
    unit: "connections",
    help: "Maximum number of connections to PostgreSQL.",
    labels: { [pool]: pools },
  },
  db_client_connection_pending_requests: {
    kind: "gauge",
    of: "process",
    unit: "requests",
    help: "Statements and transactions that wait for a connection.",
    labels: { [pool]: pools },
  },
  process_cpu_seconds: {
    kind: "counter",
    of: "process",
    unit: "seconds",
    help: "CPU time of the process, user and system.",
  },
  process_resident_memory_bytes: {
    kind: "gauge",
    of: "process",
    unit: "bytes",
    help: "Resident memory of the process.",
  },
  process_start_time_seconds: {
    kind: "gauge",
    of: "process",
    unit: "seconds since 1970",
    help: "Time at which the process was started.",
  },
  process_open_fds: {
    kind: "gauge",
    of: "process",
    unit: "files",
    help: "Open files and sockets of the process. Linux only.",
  },
  process_max_fds: {
    kind: "gauge",
    of: "process",
    unit: "files",
    help: "Maximum number of open files and sockets. Linux only.",
  },
  nodejs_eventloop_utilization: {
    kind: "gauge",
    of: "process",
    unit: "share",
    help: "Share of the time since the last scrape in which the event loop was busy.",
  },
  nodejs_eventloop_time: {
    kind: "counter",
    of: "process",
    unit: "seconds",
    help: "Time that the event loop was busy or idle.",
    labels: { nodejs_eventloop_state: ["active", "idle"] },
  },
  nodejs_eventloop_delay_min: eventLoopDelay("Minimum"),
  nodejs_eventloop_delay_max: eventLoopDelay("Maximum"),
  nodejs_eventloop_delay_mean: eventLoopDelay("Mean"),
  nodejs_eventloop_delay_stddev: eventLoopDelay("Standard deviation of the"),
  nodejs_eventloop_delay_p50: eventLoopDelay("Median"),
  nodejs_eventloop_delay_p90: eventLoopDelay("90th percentile of the"),
  nodejs_eventloop_delay_p99: eventLoopDelay("99th percentile of the"),
  v8js_gc_duration: {
    kind: "histogram",
    of: "process",
    unit: "seconds",
    help: "Duration of garbage collections.",
    labels: { v8js_gc_type: ["major", "minor", "incremental", "weakcb"] },
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  v8js_memory_heap_space_size: {
    kind: "gauge",
    of: "process",
    unit: "bytes",
    help: "Memory allocated for a heap space.",
    labels: heapSpace,
  },
  v8js_memory_heap_used: {
    kind: "gauge",
    of: "process",
    unit: "bytes",
    help: "Memory used in a heap space.",
    labels: heapSpace,
  },
  v8js_memory_heap_space_available_size: {
    kind: "gauge",
    of: "process",
    unit: "bytes",
    help: "Memory available in a heap space.",
    labels: heapSpace,
  },
  v8js_memory_heap_space_physical_size: {
    kind: "gauge",
    of: "process",
    unit: "bytes",
    help: "Committed memory of a heap space.",
    labels: heapSpace,
  },
  v8js_resource_active: {
    kind: "gauge",
    of: "process",
    unit: "resources",
    help: "Sockets, timers and requests that keep the event loop alive.",
    labels: { v8js_resource_type: "runtime" },
  },
} as const satisfies Record<string, MetricRow>;

function eventLoopDelay(value: string) {
  const help = `${value} delay of the event loop since the last scrape.`;
  return { kind: "gauge", of: "process", unit: "seconds", help } as const;
}
