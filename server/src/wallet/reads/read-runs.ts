import { asTenant } from "../../db/as-tenant.ts";
import type { Pool } from "../../db/pool.ts";
import { type Micros, priceMicros } from "../../lib/money.ts";

export interface RunView {
  id: bigint;
  name: string;
  limit: Micros;
  /** Includes searches in flight. */
  spent: Micros;
  searches: number;
  openedAt: Date;
  /** `openedAt` in microseconds, the precision of the database. */
  openedMicros: bigint;
  expiresAt: Date;
}

export interface RunsQuery {
  from?: Date | undefined;
  /** Only runs opened before this one. */
  before?: Pick<RunView, "id" | "openedMicros"> | undefined;
  limit: number;
}

/** Runs that are open or ended within the last hour, newest first. Older runs are deleted. */
export async function readRuns(pool: Pool, walletId: string, { from, before, limit }: RunsQuery): Promise<RunView[]> {
  const { rows } = await asTenant(pool, walletId, (db) =>
    db.query<Omit<RunView, "searches">>(
      `select id, subject as name, limit_micros as limit, spent_micros as spent, opened_at as "openedAt",
         resets_at as "expiresAt",
         (extract(epoch from opened_at) * 1000000)::bigint as "openedMicros"
       from pb.budget_windows
       where wallet_id = $1 and budget_id is null and mode = 'live' and ($2::timestamptz is null or opened_at >= $2)
         and ($3::bigint is null
           or (opened_at, id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $3))
       order by opened_at desc, id desc limit $5`,
      [walletId, from ?? null, before && String(before.id), String(before?.openedMicros ?? 0n), limit],
    ),
  );
  return rows.map((row) => ({ ...row, searches: Number(row.spent / priceMicros) }));
}
