import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

export interface BalanceWatch {
  /** What was wrong in some snapshot, and how many there were. */
  stop(): Promise<{ faults: string[]; snapshots: number }>;
}

export interface WatchOptions {
  /** How long between two looks at searches and transfers too; in between, only at the wallets. */
  wholeEveryMs?: number;
  /** Asked before each connection. */
  findUrl?: () => Promise<string>;
}

/**
 * Reads the books over and over while others write and die, as any reader could at any moment: no wallet is below
 * zero, and what it holds is what its pending searches hold. A database that is away is asked again.
 */
export function watchBalances(
  superuserUrl: string,
  { wholeEveryMs = 0, findUrl = async () => superuserUrl }: WatchOptions = {},
): BalanceWatch {
  const faults: string[] = [];
  let snapshots = 0;
  let lookedWhole = Number.NEGATIVE_INFINITY;
  const watch = { isOn: true };

  async function readOn(): Promise<void> {
    const client = new pg.Client({
      connectionString: await findUrl(),
      connectionTimeoutMillis: 2_000,
      query_timeout: 30_000,
      // Compiling the statement would take longer than running it.
      options: "-c jit=off",
    });
    // It is told by the query as well, which is where it matters.
    client.on("error", () => undefined);
    try {
      await client.connect();
      while (watch.isOn) {
        const isWhole = performance.now() - lookedWhole >= wholeEveryMs;
        const { rows } = await client.query<{ fault: string }>(isWhole ? findFaults : findBelowZero);
        if (isWhole) lookedWhole = performance.now();
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
    w.id, w.credited_micros, w.debited_micros, w.held_micros, coalesce(p.micros, 0), coalesce(t.micros, 0)) as fault
  from pb.wallets w
    left join (
      select wallet_id as id, sum(price_micros) as micros from pb.searches where state = 'pending' group by 1
    ) p using (id)
    left join (
      select wallet_id as id, sum(amount_micros) as micros from pb.transfers where from_account = 'wallet' group by 1
    ) t using (id)
  where w.credited_micros - w.debited_micros - w.held_micros < 0
    or w.held_micros <> coalesce(p.micros, 0) or w.debited_micros <> coalesce(t.micros, 0)`;

/** What costs next to nothing: the wallets alone. */
const findBelowZero = `
  select format('wallet %s: credited %s, debited %s, held %s', id, credited_micros, debited_micros, held_micros) as fault
  from pb.wallets where credited_micros - debited_micros - held_micros < 0 or held_micros < 0`;
