import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

export interface BalanceWatch {
  /** What was wrong in some snapshot, and how many there were. */
  stop(): Promise<{ faults: string[]; snapshots: number }>;
}

/**
 * Reads the books over and over while others write and die, as any reader could at any moment: no wallet is below
 * zero, and what it holds is what its pending searches hold. A database that is away is asked again.
 */
export function watchBalances(superuserUrl: string): BalanceWatch {
  const faults: string[] = [];
  let snapshots = 0;
  const watch = { isOn: true };

  async function readOn(): Promise<void> {
    const client = new pg.Client({
      connectionString: superuserUrl,
      connectionTimeoutMillis: 2_000,
      // Compiling the statement would take longer than running it.
      options: "-c jit=off",
    });
    // It is told by the query as well, which is where it matters.
    client.on("error", () => undefined);
    try {
      await client.connect();
      while (watch.isOn) {
        const { rows } = await client.query<{ fault: string }>(findFaults);
        snapshots += 1;
        faults.push(...rows.map((row) => row.fault));
        await wait(5);
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async function readAgain(): Promise<void> {
    // The database is killed under it again and again; that it comes back is what the test itself asserts.
    while (watch.isOn) await readOn().catch(() => wait(20));
  }

  const watching = readAgain();
  return {
    async stop() {
      watch.isOn = false;
      await watching;
      return { faults, snapshots };
    },
  };
}

// One statement is one snapshot.
const findFaults = `
  select format('wallet %s: credited %s, debited %s, held %s, pending %s, paid %s',
    w.id, w.credited_micros, w.debited_micros, w.held_micros, p.micros, t.micros) as fault
  from pb.wallets w,
    lateral (
      select coalesce(sum(price_micros), 0) as micros from pb.searches s where s.wallet_id = w.id and s.state = 'pending'
    ) p,
    lateral (
      select coalesce(sum(amount_micros), 0) as micros from pb.transfers t
      where t.wallet_id = w.id and t.from_account = 'wallet'
    ) t
  where w.credited_micros - w.debited_micros - w.held_micros < 0
    or w.held_micros <> p.micros or w.debited_micros <> t.micros`;
