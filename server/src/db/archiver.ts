import type { Queryable } from "./pool.ts";

/** What PostgreSQL reports about archiving WAL since its statistics were reset. */
export interface Archiver {
  /** When the last segment was archived. Before the first one, when PostgreSQL started. */
  archivedAtSeconds: number;
  failures: number;
  failedAtSeconds: number | undefined;
}

/** Undefined if archiving is off. */
export async function readArchiver(db: Queryable): Promise<Archiver | undefined> {
  const { rows } = await db.query<{ archived_at: number; failures: bigint; failed_at: number | null }>(
    `select extract(epoch from coalesce(last_archived_time, pg_postmaster_start_time()))::float8 as archived_at,
       failed_count as failures, extract(epoch from last_failed_time)::float8 as failed_at
     from pg_stat_archiver where current_setting('archive_mode') <> 'off'`,
  );
  const [row] = rows;
  return (
    row && {
      archivedAtSeconds: row.archived_at,
      failures: Number(row.failures),
      failedAtSeconds: row.failed_at ?? undefined,
    }
  );
}
