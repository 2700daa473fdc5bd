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
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { type MetricName, type MetricRow, metricTable } from "./metric-table.ts";

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
}

export function createMeter(): Meter {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  const meter = new MeterProvider({ readers: [exporter] }).getMeter("pennyblack");
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
  };
}
