import type { TestDatabase } from "../services/database.ts";

export interface WalletLock {
  /** Number of statements that wait for it. */
  waiting: () => Promise<number>;
  release: () => Promise<void>;
}

/** Locks a wallet's row, as another server would. */
export async function lockWallet(
  db: TestDatabase,
  { walletId }: { walletId: string },
  strength: "update" | "no key update" = "update",
): Promise<WalletLock> {
  const client = await db.owner.connect();
  await client.query("begin; set local idle_in_transaction_session_timeout = 0");
  const { rows } = await client.query<{ pid: number }>(
    `select pg_backend_pid() as pid from pb.wallets where id = $1 for ${strength}`,
    [walletId],
  );
  return {
    async waiting() {
      const { rowCount } = await db.owner.query(
        "select from pg_stat_activity where $1::integer = any (pg_blocking_pids(pid))",
        [rows[0]?.pid],
      );
      return rowCount ?? 0;
    },
    async release() {
      await client.query("rollback");
      client.release();
    },
  };
}
