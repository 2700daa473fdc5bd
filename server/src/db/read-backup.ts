import type { Queryable } from "./pool.ts";

/** `at` is undefined if no backup was completed on the current primary. */
export interface LastBackup {
  at: Date | undefined;
}

/**
 * PostgreSQL keeps the history file of the last base backup in pg_wal, regardless of the program that took it. Incremental backups of
 * pgBackRest write one too. Undefined if the role lacks the privilege
 * (`grant execute on function pg_ls_waldir to pennyblack_operator`).
 */
export async function readLastBackup(db: Queryable): Promise<LastBackup | undefined> {
  try {
    const { rows } = await db.query<{ at: Date | null }>(
      "select max(modification) as at from pg_ls_waldir() where name like '%.backup'",
    );
    return { at: rows[0]?.at ?? undefined };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "42501") return undefined;
    throw error;
  }
}
