import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

export interface BalanceWatch {
  /** Returns the violations found in any snapshot, and the number of snapshots. */
  stop(): Promise<{ violations: string[]; snapshots: number }>;
}

export interface WatchOptions {
  /** Called before each connection. */
  findUrl: () => Promise<string>;
  /** The time between two comparisons with searches and transfers. In between, only the wallets are read. */
  fullCheckIntervalMs?: number;
}

/**
 * Reads all wallets continuously, as any reader could at any moment: no wallet is below zero, and its held amount is the
 * sum of its pending searches. Reconnects while the database is unavailable.
 */
export function watchBalances({ findUrl, fullCheckIntervalMs = 0 }: WatchOptions): BalanceWatch {
  const violations: string[] = [];
  let snapshots = 0;
  let lastFullCheck = Number.NEGATIVE_INFINITY;
  const watch = { isOn: true };

  async function readUntilDisconnected(): Promise<void> {
    const client = new pg.Client({
      connectionString: await findUrl(),
      connectionTimeoutMillis: 2_000,
      query_timeout: 30_000,
      // Compiling the statement would take longer than running it.
      options: "-c jit=off",
    });
    // The query fails as well, and that error is handled.
    client.on("error", () => undefined);
    try {
      await client.connect();
      while (watch.isOn) {
        const isFull = performance.now() - lastFullCheck >= fullCheckIntervalMs;
        const { rows } = await client.query<{ violation: string }>(isFull ? findMismatches : findBelowZero);
        if (isFull) lastFullCheck = performance.now();
        snapshots += 1;
        violations.push(...rows.map((row) => row.violation));
        await wait(5);
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    // The database is killed repeatedly; the tests themselves assert that it recovers.
    while (watch.isOn) await readUntilDisconnected().catch(() => wait(20));
  }

  const watching = run();
  return {
    async stop() {
      watch.isOn = false;
      await watching;
      return { violations, snapshots };
    },
  };
}

// One statement is one snapshot.
const findMismatches = `
  select format('wallet %s: credited %s, debited %s, held %s, pending %s, paid %s',
    w.id, w.credited_micros, w.debited_micros, w.held_micros, coalesce(p.micros, 0), coalesce(t.micros, 0)) as violation
  from pb.wallets w
    left join (
      select wallet_id as id, sum(price_micros) as micros from pb.searches where state = 'pending' group by 1
    ) p using (id)
    left join (
      select wallet_id as id, sum(amount_micros) as micros from pb.transfers where from_account = 'wallet' group by 1
    ) t using (id)
  where w.credited_micros - w.debited_micros - w.held_micros < 0
    or w.held_micros <> coalesce(p.micros, 0) or w.debited_micros <> coalesce(t.micros, 0)`;

/** Cheap, because it reads only the wallets. */
const findBelowZero = `
  select format('wallet %s: credited %s, debited %s, held %s', id, credited_micros, debited_micros, held_micros) as violation
  from pb.wallets where credited_micros - debited_micros - held_micros < 0 or held_micros < 0`;
