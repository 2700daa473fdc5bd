import type {
  BatchObservableCallback,
  Counter,
  Gauge,
  Histogram,
  Observable,
  ObservableCounter,
  ObservableGauge,
} from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { RuntimeNodeInstrumentation } from "@opentelemetry/instrumentation-runtime-node";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { version } from "../lib/version.ts";
import type { MetricRow } from "./metric-row.ts";
import { type MetricName, metricTable } from "./metric-table.ts";

/** Creates the instruments described in metric-table.ts, and renders their values. */
export interface Meter {
  counter: (name: MetricName) => Counter;
  gauge: (name: MetricName) => Gauge;
  histogram: (name: MetricName) => Histogram;
  /** Read on every scrape. */
  observableGauge: (name: MetricName) => ObservableGauge;
  observableCounter: (name: MetricName) => ObservableCounter;
  watch: (read: BatchObservableCallback, instruments: Observable[]) => void;
  /** In the Prometheus text format. */
  render: () => Promise<string>;
  close: () => void;
}

export function createMeter(): Meter {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, false, true);
  const resource = resourceFromAttributes({
    "service.name": "pennyblack",
    "service.version": version,
    "process.runtime.version": process.versions.node,
  });
  const provider = new MeterProvider({ resource, readers: [exporter] });
  const meter = provider.getMeter("pennyblack");
  // Reads counters of Node; it wraps no module.
  const runtime = new RuntimeNodeInstrumentation();
  runtime.setMeterProvider(provider);
  const describe = (name: MetricName) => {
    const { help, buckets }: MetricRow = metricTable[name];
    return {
      description: help,
      ...(buckets && { advice: { explicitBucketBoundaries: [...buckets] } }),
    };
  };
  return {
    counter: (name) => meter.createCounter(name, describe(name)),
    gauge: (name) => meter.createGauge(name, describe(name)),
    histogram: (name) => meter.createHistogram(name, describe(name)),
    observableGauge: (name) => meter.createObservableGauge(name, describe(name)),
    observableCounter: (name) => meter.createObservableCounter(name, describe(name)),
    watch: (read, instruments) => meter.addBatchObservableCallback(read, instruments),
    render: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
    close: () => runtime.disable(),
  };
}
