import type { Micros } from "../lib/money.ts";
import { createMeter } from "./meter.ts";

/** What a worker counts, and what it says of the database when somebody looks. */
export interface WorkerMetrics {
  countSwept: (swept: { holds: number; micros: Micros }) => void;
  countUsageCorrections: (rows: number) => void;
  /** From its start on a worker has a time for each of its tasks. */
  watchTasks: (names: readonly string[]) => void;
  noteTask: (task: string, isOk: boolean) => void;
  watchDatabase: (read: () => Promise<DatabaseFacts>) => void;
  render: () => Promise<string>;
}

export interface DatabaseFacts {
  /** None before the first. */
  reconciliation: { atSeconds: number; differences: number } | undefined;
  partitionDaysAhead: number;
  webhookLagSeconds: number;
  usageLagSeconds: number;
  /** Undefined where the worker may not know. */
  replicas: { name: string; lagBytes: number }[] | undefined;
}

export function createWorkerMetrics(): WorkerMetrics {
  const meter = createMeter();
  const sweptHolds = meter.counter("pennyblack_expired_holds");
  const sweptMoney = meter.counter("pennyblack_expired_micro_usd");
  const usageCorrections = meter.counter("pennyblack_usage_corrections");
  const taskSuccess = meter.gauge("pennyblack_task_success_timestamp_seconds");
  const taskFailures = meter.counter("pennyblack_task_failures");
  for (const counter of [sweptHolds, sweptMoney, usageCorrections]) counter.add(0);

  return {
    countSwept({ holds, micros }) {
      sweptHolds.add(holds);
      sweptMoney.add(Number(micros));
    },
    countUsageCorrections: (rows) => usageCorrections.add(rows),
    watchTasks(names) {
      for (const task of names) {
        taskSuccess.record(Date.now() / 1_000, { task });
        taskFailures.add(0, { task });
      }
    },
    noteTask(task, isOk) {
      if (isOk) taskSuccess.record(Date.now() / 1_000, { task });
      else taskFailures.add(1, { task });
    },
    watchDatabase(read) {
      const differences = meter.watched("pennyblack_reconciliation_differences");
      const reconciledAt = meter.watched("pennyblack_reconciliation_timestamp_seconds");
      const partitionDays = meter.watched("pennyblack_partition_days_ahead");
      const webhookLag = meter.watched("pennyblack_webhook_lag_seconds");
      const usageLag = meter.watched("pennyblack_usage_lag_seconds");
      const replicas = meter.watched("pennyblack_replicas");
      const replicaLag = meter.watched("pennyblack_replica_lag_bytes");
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
          for (const { name, lagBytes } of facts.replicas ?? [])
            result.observe(replicaLag, lagBytes, { replica: name });
        },
        [differences, reconciledAt, partitionDays, webhookLag, usageLag, replicas, replicaLag],
      );
    },
    render: meter.render,
  };
}
