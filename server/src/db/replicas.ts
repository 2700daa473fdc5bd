import type { Pool } from "./pool.ts";

export interface Replica {
  /** The replica's application_name. */
  name: string;
  /** WAL not yet replayed. */
  lagBytes: number;
}

/**
 * The replicas of the primary. Undefined if the worker's role lacks the privilege to read all statistics
 * (`grant pg_read_all_stats to pennyblack_worker`).
 */
export async function readReplicas(worker: Pool): Promise<Replica[] | undefined> {
  const client = await worker.connect();
  try {
    await client.query("begin read only");
    // Our roles are NOINHERIT, so the granted role must be set explicitly.
    await client.query("set local role pg_read_all_stats");
    const { rows } = await client.query<{ name: string; lag: string }>(
      `select application_name as name, max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::text as lag
       from pg_stat_replication where state = 'streaming' group by 1`,
    );
    return rows.map(({ name, lag }) => ({ name, lagBytes: Number(lag) }));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "42501") return undefined;
    throw error;
  } finally {
    await client.query("rollback").finally(() => client.release());
  }
}
