import { CannotUnseal, reseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";
import type { Queryable } from "./pool.ts";

interface SealedColumn {
  table: string;
  /** The primary key. */
  idColumn?: string;
  column: string;
  purposeOf: (id: string) => string;
}

/** Seals every value of a column under the writing version. A value that is changed meanwhile is left as it is. */
export async function resealColumn(
  db: Queryable,
  secrets: Secrets,
  { table, idColumn = "id", column, purposeOf }: SealedColumn,
): Promise<Resealed> {
  const count: Resealed = { resealed: 0, current: 0, failed: 0 };
  const { rows } = await db.query<{ id: string; sealed: Buffer }>(
    `select ${idColumn} as id, ${column} as sealed from ${table} where ${column} is not null`,
  );
  for (const { id, sealed } of rows) {
    try {
      const changed = reseal(secrets, purposeOf(id), sealed);
      count[changed ? "resealed" : "current"] += 1;
      const sql = `update ${table} set ${column} = $3 where ${idColumn} = $1 and ${column} = $2`;
      if (changed) await db.query(sql, [id, sealed, changed]);
    } catch (error) {
      if (!(error instanceof CannotUnseal)) throw error;
      count.failed += 1;
    }
  }
  return count;
}
