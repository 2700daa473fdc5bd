import type { Pool, Queryable } from "./pool.ts";

/** All of it or nothing of it. */
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
    // Closing the connection ends a transaction that failed.
    client.release(failure);
  }
}
