import type { Pool, Queryable } from "./pool.ts";

/** Commits if `work` resolves, rolls back if it rejects. */
export async function inTransaction<Result>(
  pool: Pool,
  work: (db: Queryable) => Promise<Result>,
  begin: "begin" | "begin read only" | "begin isolation level repeatable read read only" = "begin",
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // After a failure, closing the connection rolls back.
    client.release(failure);
  }
}
