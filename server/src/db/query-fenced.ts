import type pg from "pg";
import { checkIdentity, isProposed } from "./fence.ts";
import { fenceOf, type Queryable } from "./pool.ts";
import { sqlStates } from "./sql-states.ts";

/**
 * Sends a statement that moves money. It names the timeline that this process expects, and a database on another one refuses
 * it. If that is because of a promotion that this process has not seen yet, the statement is sent again.
 */
export async function sendFenced<Row extends pg.QueryResultRow>(
  db: Queryable,
  toStatement: (expectedTimeline: string | null) => pg.QueryConfig,
): Promise<pg.QueryResult<Row>> {
  const fence = fenceOf(db);
  const expected = fence?.expected;
  try {
    const result = await db.query<Row>(toStatement(expected ?? null));
    // The statement may have written the token, which later connections must have. A failure does not undo the statement.
    if (fence && expected !== undefined && isProposed(expected)) await checkIdentity(db, fence).catch(() => undefined);
    return result;
  } catch (error) {
    if (!fence || !isOtherTimeline(error)) throw error;
    await checkIdentity(db, fence);
    if (fence.expected === expected) throw error;
    return await db.query<Row>(toStatement(fence.expected ?? null));
  }
}

function isOtherTimeline(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === sqlStates.otherTimeline;
}

/**
 * Runs a statement without a WHERE clause that calls one function, such as "select * from pb.refund($1, $2, $3, $4)". The
 * function locks wallets (pb.lock_wallets), which checks the timeline. The condition that is added does not depend on rows, so
 * PostgreSQL evaluates it first.
 */
export function queryFenced<Row extends pg.QueryResultRow>(
  db: Queryable,
  statement: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<Row>> {
  const expected = `$${values.length + 1}`;
  return sendFenced<Row>(db, (timeline) => ({
    text: `${statement} where (select set_config('pb.expected_timeline', coalesce(${expected}::text, ''), true)) is not null`,
    values: [...values, timeline],
  }));
}
