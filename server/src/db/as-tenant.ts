import type { Pool, Queryable } from "./pool.ts";

/** Reads as one wallet: every statement inside sees that wallet's rows and no others, whatever its SQL says. */
export async function asTenant<Result>(
  pool: Pool,
  walletId: string,
  read: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query("begin read only");
    await client.query("select set_config('pb.wallet_id', $1, true)", [walletId]);
    const result = await read(client);
    await client.query("commit");
    return result;
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // A connection that failed is thrown away: it may still be inside the transaction of this wallet.
    client.release(failure);
  }
}
