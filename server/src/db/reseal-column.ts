import { CannotUnseal, reseal } from "../lib/seal.ts";
import type { Resealed, Secrets } from "../lib/secrets.ts";
import type { Queryable } from "./pool.ts";

interface SealedColumn {
  table: string;
  /** The primary key, a UUID. */
  idColumn?: string;
  column: string;
  purposeOf: (id: string) => string;
}

interface SealedRow {
  id: string;
  sealed: Buffer;
}

const pageSize = 1_000;

/** Seals every value of a column under the first secret, a page at a time. A value that changes meanwhile is left unchanged. */
export async function resealColumn(
  db: Queryable,
  secrets: Secrets,
  { table, idColumn = "id", column, purposeOf }: SealedColumn,
): Promise<Resealed> {
  const count: Resealed = { resealed: 0, current: 0, failed: 0 };
  for (let after: string | null = null; ; ) {
    const { rows }: { rows: SealedRow[] } = await db.query(
      `select ${idColumn} as id, ${column} as sealed from ${table}
       where ${column} is not null and ($1::uuid is null or ${idColumn} > $1) order by ${idColumn} limit ${pageSize}`,
      [after],
    );
    const changed = rows.flatMap((row) => resealRow(secrets, purposeOf(row.id), row, count));
    if (changed.length > 0)
      await db.query(
        `update ${table} t set ${column} = n.changed from unnest($1::uuid[], $2::bytea[], $3::bytea[]) as n (id, old, changed)
         where t.${idColumn} = n.id and t.${column} = n.old`,
        [changed.map(({ id }) => id), changed.map(({ old }) => old), changed.map(({ sealed }) => sealed)],
      );
    if (rows.length < pageSize) return count;
    after = rows.at(-1)?.id ?? null;
  }
}

function resealRow(
  secrets: Secrets,
  purpose: string,
  { id, sealed: old }: SealedRow,
  count: Resealed,
): { id: string; old: Buffer; sealed: Buffer }[] {
  try {
    const sealed = reseal(secrets, purpose, old);
    count[sealed ? "resealed" : "current"] += 1;
    return sealed ? [{ id, old, sealed }] : [];
  } catch (error) {
    if (!(error instanceof CannotUnseal)) throw error;
    count.failed += 1;
    return [];
  }
}
