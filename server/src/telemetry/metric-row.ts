/** The description of a metric. */
export interface MetricRow {
  kind: "counter" | "gauge" | "histogram";
  /** The source of the metric. "process": servers and workers. "drill": node_exporter, from the file that a restore drill writes. */
  of: "server" | "worker" | "process" | "drill";
  unit: string;
  /** Ends with a full stop. */
  help: string;
  labels?: Readonly<Record<string, readonly string[] | Bound>>;
  buckets?: readonly number[];
}

/** Label values that are defined by the configuration or by another module. */
export type Bound = "upstreams" | "tasks" | "replicas" | "hosts" | "versions" | "runtime" | "stanzas";
