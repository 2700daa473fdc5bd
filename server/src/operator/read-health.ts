import type { Queryable } from "../db/pool.ts";

export interface Health {
  oldestPendingSeconds: number | undefined;
  sweptAt: Date | undefined;
  partitionDays: number;
  connections: number;
  maxConnections: number;
  bytes: bigint;
}

export async function readHealth(db: Queryable): Promise<Health> {
  const { rows } = await db.query<{
    oldest_pending_s: number | null;
    swept_at: Date | null;
    partition_days: number;
    connections: number;
    max_connections: number;
    bytes: bigint;
  }>("select * from pb.operator_health()");
  const [row] = rows;
  if (!row) throw new Error("pb.operator_health returned no row");
  return {
    oldestPendingSeconds: row.oldest_pending_s ?? undefined,
    sweptAt: row.swept_at ?? undefined,
    partitionDays: row.partition_days,
    connections: row.connections,
    maxConnections: row.max_connections,
    bytes: row.bytes,
  };
}
