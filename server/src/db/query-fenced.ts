import type pg from "pg";
import { minTimelineOf, type Queryable } from "./pool.ts";

/**
 * Runs a statement without a WHERE clause that calls one function, such as "select * from pb.refund($1, $2, $3, $4)". An old
 * primary refuses it, because the function locks wallets (pb.lock_wallets). The condition that is added does not depend on
 * rows, so PostgreSQL evaluates it first.
 */
export function queryFenced<Row extends pg.QueryResultRow>(
  db: Queryable,
  statement: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> {
  const minTimeline = `$${values.length + 1}`;
  return db.query<Row>(
    `${statement} where (select set_config('pb.min_timeline', coalesce(${minTimeline}::text, ''), true)) is not null`,
    [...values, minTimelineOf(db)],
  );
}
