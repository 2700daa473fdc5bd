import type { Archiver } from "../db/archiver.ts";
import type { HostState } from "../db/find-primary.ts";
import type { Micros } from "../lib/money.ts";
import { createMeter, type Meter } from "./meter.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";

/** The metrics of a worker, including those it reads from the database on every scrape. */
export interface WorkerMetrics extends ProcessMetrics {
  countSwept: (swept: { holds: number; micros: Micros }) => void;
  recordSkippedHolds: (overdueSeconds: number) => void;
  countUsageCorrections: (rows: number) => void;
  /** Gives every task a success time from the start of the worker. */
  watchTasks: (names: readonly string[]) => void;
  recordTask: (task: string, isOk: boolean) => void;
  watchDatabase: (read: () => Promise<DatabaseFacts>) => void;
  /** Separate from the others, because these are known even when the database cannot be used. */
  watchHosts: (read: () => Promise<readonly HostState[]>) => void;
  render: () => Promise<string>;
  close: () => void;
}

export interface DatabaseFacts {
  /** Undefined before the first one. */
  reconciliation: { atSeconds: number; differences: number } | undefined;
  partitionDaysAhead: number;
  webhookLagSeconds: number;
  usageLagSeconds: number;
  /** Undefined if the worker lacks the privilege. */
  replicas: { name: string; lagBytes: number }[] | undefined;
  /** Undefined if archiving is off. */
  archiver: Archiver | undefined;
}

export function createWorkerMetrics(): WorkerMetrics {
  const meter = createMeter();
  const sweptHolds = meter.counter("pennyblack_expired_holds");
  const sweptMoney = meter.counter("pennyblack_expired_micro_usd");
  const skippedHolds = meter.gauge("pennyblack_skipped_holds_seconds");
  const usageCorrections = meter.counter("pennyblack_usage_corrections");
  const taskSuccess = meter.gauge("pennyblack_task_success_timestamp_seconds");
  const taskFailures = meter.counter("pennyblack_task_failures");
  for (const counter of [sweptHolds, sweptMoney, usageCorrections]) counter.add(0);

  return {
    ...createProcessMetrics(meter),
    countSwept({ holds, micros }) {
      sweptHolds.add(holds);
      sweptMoney.add(Number(micros));
    },
    recordSkippedHolds: (overdueSeconds) => skippedHolds.record(overdueSeconds),
    countUsageCorrections: (rows) => usageCorrections.add(rows),
    watchTasks(names) {
      for (const task of names) {
        taskSuccess.record(Date.now() / 1_000, { task });
        taskFailures.add(0, { task });
      }
    },
    recordTask(task, isOk) {
      if (isOk) taskSuccess.record(Date.now() / 1_000, { task });
      else taskFailures.add(1, { task });
    },
    watchDatabase: (read) => watchDatabase(meter, read),
    watchHosts: (read) => watchHosts(meter, read),
    render: meter.render,
    close: meter.close,
  };
}

function watchDatabase(meter: Meter, read: () => Promise<DatabaseFacts>): void {
  const differences = meter.observableGauge("pennyblack_reconciliation_differences");
  const reconciledAt = meter.observableGauge("pennyblack_reconciliation_timestamp_seconds");
  const partitionDays = meter.observableGauge("pennyblack_partition_days_ahead");
  const webhookLag = meter.observableGauge("pennyblack_webhook_lag_seconds");
  const usageLag = meter.observableGauge("pennyblack_usage_lag_seconds");
  const replicas = meter.observableGauge("pennyblack_replicas");
  const replicaLag = meter.observableGauge("pennyblack_replica_lag_bytes");
  const archivedAt = meter.observableGauge("pennyblack_wal_archived_timestamp_seconds");
  const archiveFailedAt = meter.observableGauge("pennyblack_wal_archive_failed_timestamp_seconds");
  const archiveFailures = meter.observableCounter("pennyblack_wal_archive_failures");
  meter.watch(
    async (result) => {
      const facts = await read();
      if (facts.reconciliation) {
        result.observe(differences, facts.reconciliation.differences);
        result.observe(reconciledAt, facts.reconciliation.atSeconds);
      }
      result.observe(partitionDays, facts.partitionDaysAhead);
      result.observe(webhookLag, facts.webhookLagSeconds);
      result.observe(usageLag, facts.usageLagSeconds);
      if (facts.replicas) result.observe(replicas, facts.replicas.length);
      for (const { name, lagBytes } of facts.replicas ?? []) result.observe(replicaLag, lagBytes, { replica: name });
      const { archiver } = facts;
      if (!archiver) return;
      result.observe(archivedAt, archiver.archivedAtSeconds);
      result.observe(archiveFailures, archiver.failures);
      if (archiver.failedAtSeconds !== undefined) result.observe(archiveFailedAt, archiver.failedAtSeconds);
    },
    [
      differences,
      reconciledAt,
      partitionDays,
      webhookLag,
      usageLag,
      replicas,
      replicaLag,
      archivedAt,
      archiveFailedAt,
      archiveFailures,
    ],
  );
}

function watchHosts(meter: Meter, read: () => Promise<readonly HostState[]>): void {
  const primaries = meter.observableGauge("pennyblack_database_primaries");
  const diverged = meter.observableGauge("pennyblack_database_diverged");
  meter.watch(
    async (result) => {
      const hosts = await read();
      result.observe(primaries, hosts.filter(({ role }) => role === "primary").length);
      for (const host of hosts) result.observe(diverged, host.diverged === undefined ? 0 : 1, { host: host.name });
    },
    [primaries, diverged],
  );
}
