import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { priceMicros } from "../lib/money.ts";
import { createUpstreamMetrics, type UpstreamMetrics } from "./upstream-metrics.ts";

/** What this process counts. Labels are words from our own tables, never from a caller. */
export interface Metrics extends UpstreamMetrics {
  countSearch: (outcome: string, seconds: number) => void;
  countCaptured: () => void;
  /** A search worked and could not be charged: we paid for it. */
  countLost: (reason: "expired" | "unknown") => void;
  countBatch: (kind: string, size: number) => void;
  watchWaiting: (read: () => { holds: number; settlements: number }) => void;
  countSwept: (holds: number) => void;
  setReconciliation: (differences: number) => void;
  setPartitionDays: (days: number) => void;
  /** Zero once the lenses could be read again. */
  setLensFaults: (faults: number) => void;
  countUsageCorrections: (rows: number) => void;
  /** In Prometheus' text format. */
  render: () => Promise<string>;
}

export function createMetrics(): Metrics {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, true, true);
  const meter = new MeterProvider({ readers: [exporter] }).getMeter("pennyblack");

  const searches = meter.createCounter("pennyblack_searches", {
    description: "Searches by outcome: ok or a problem code.",
  });
  const seconds = meter.createHistogram("pennyblack_search_duration_seconds", {
    description: "From the first byte of a search to its answer.",
    advice: { explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  });
  const captured = meter.createCounter("pennyblack_captured_micro_usd", {
    description: "Money charged, in micro-USD.",
  });
  const lost = meter.createCounter("pennyblack_lost_captures", {
    description: "Searches that worked and were not charged.",
  });
  const batches = meter.createHistogram("pennyblack_ledger_batch_size", {
    description: "Items per ledger statement.",
    advice: { explicitBucketBoundaries: [1, 2, 5, 10, 25, 50, 100, 250] },
  });
  const waiting = meter.createObservableGauge("pennyblack_ledger_waiting", {
    description: "Items waiting for the ledger.",
  });
  const swept = meter.createCounter("pennyblack_expired_holds", { description: "Holds that the sweeper ended." });
  const differences = meter.createGauge("pennyblack_reconciliation_differences", {
    description: "Differences that the last reconciliation found.",
  });
  const reconciledAt = meter.createGauge("pennyblack_reconciliation_timestamp_seconds", {
    description: "When the last reconciliation ended.",
  });
  const partitionDays = meter.createGauge("pennyblack_partition_days_ahead", {
    description: "Days from today that have their partitions.",
  });

  const lensFaults = meter.createGauge("pennyblack_lens_faults", {
    description: "Faults that kept the last edit of the lenses from being used.",
  });
  lensFaults.record(0);
  const usageCorrections = meter.createCounter("pennyblack_usage_corrections", {
    description: "Rows of usage that a recount put right.",
  });

  return {
    ...createUpstreamMetrics(meter),
    countSearch(outcome, tookSeconds) {
      searches.add(1, { outcome });
      seconds.record(tookSeconds);
    },
    countCaptured: () => captured.add(Number(priceMicros)),
    countLost: (reason) => lost.add(1, { reason }),
    countBatch: (kind, size) => batches.record(size, { kind }),
    watchWaiting(read) {
      waiting.addCallback((gauge) => {
        const { holds, settlements } = read();
        gauge.observe(holds, { lane: "holds" });
        gauge.observe(settlements, { lane: "settlements" });
      });
    },
    countSwept: (holds) => swept.add(holds),
    setReconciliation(count) {
      differences.record(count);
      reconciledAt.record(Date.now() / 1_000);
    },
    setPartitionDays: (days) => partitionDays.record(days),
    setLensFaults: (faults) => lensFaults.record(faults),
    countUsageCorrections: (rows) => usageCorrections.add(rows),
    render: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
  };
}
