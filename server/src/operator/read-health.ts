import type { Queryable } from "../db/pool.ts";

export interface WorkerHealth {
  /** The last report of any worker. */
  seenAt: Date | undefined;
  /** Workers that started in the last ten minutes and ended without a stop. */
  crashes: number;
  /** Tasks of running workers whose last success is too old. */
  lateTasks: readonly string[];
}

export interface Health {
  oldestPendingSeconds: number | undefined;
  worker: WorkerHealth;
  partitionDays: number;
  connections: number;
  maxConnections: number;
  bytes: bigint;
}

export async function readHealth(db: Queryable): Promise<Health> {
  const { rows } = await db.query<{
    oldest_pending_s: number | null;
    worker_seen_at: Date | null;
    worker_crashes: number;
    late_tasks: string[];
    partition_days: number;
    connections: number;
    max_connections: number;
    bytes: bigint;
  }>("select * from pb.operator_health()");
  const [row] = rows;
  if (!row) throw new Error("pb.operator_health returned no row");
  return {
    oldestPendingSeconds: row.oldest_pending_s ?? undefined,
    worker: { seenAt: row.worker_seen_at ?? undefined, crashes: row.worker_crashes, lateTasks: row.late_tasks },
    partitionDays: row.partition_days,
    connections: row.connections,
    maxConnections: row.max_connections,
    bytes: row.bytes,
  };
}
