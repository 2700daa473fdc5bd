import { randomUUIDv7 } from "node:crypto";
import { DatabaseError } from "pg";
import type { Queryable } from "../db/pool.ts";
import type { Log } from "../telemetry/log.ts";
import { type Counts, createCounts } from "./counts.ts";

// What no row of the ledger tells: requests that never became a hold, and calls to upstreams. Counted in memory, written
// every few seconds in one statement. A server that dies loses what it counted since; a batch whose answer was lost is
// sent again under its number and counts once. None of it decides about money.

export interface Tally extends Omit<Counts, "take"> {
  /** Writes what has gathered. Never rejects: what could not be written is sent again the next time. */
  write: () => Promise<void>;
  /** Writes for the last time. */
  close: () => Promise<void>;
}

export interface TallyOptions {
  /** As the ledger's role. */
  db: Queryable;
  log: Pick<Log, "warn" | "error">;
  everyMs?: number;
  mostRows?: number;
  now?: () => number;
}

export function createTally({ db, log, everyMs = 5_000, ...limits }: TallyOptions): Tally {
  const { take, ...counts } = createCounts(limits);
  const writer = randomUUIDv7();
  let batches = 0;
  let unsent: { number: number; unheld: string; upstreams: string } | undefined;
  let writing: Promise<void> | undefined;

  function nextBatch(): typeof unsent {
    const taken = take();
    if (!taken) return undefined;
    if (taken.uncounted > 0)
      log.warn({ requests: taken.uncounted }, "refusals were of too many kinds to count them all");
    batches += 1;
    return { number: batches, ...taken };
  }

  async function writeNext(): Promise<void> {
    unsent ??= nextBatch();
    if (!unsent) return;
    const { number, unheld, upstreams } = unsent;
    try {
      await db.query("select pb.write_tally($1, $2, $3, $4)", [writer, number, unheld, upstreams]);
      unsent = undefined;
    } catch (err) {
      const isFinal = err instanceof DatabaseError && /^(?:22|23|42|P0)/.test(err.code ?? "");
      if (isFinal) unsent = undefined;
      if (isFinal) log.error({ err }, "the database refuses what was counted: it is lost");
      else log.warn({ err }, "what was counted could not be written: it is sent again");
    }
  }

  function write(): Promise<void> {
    writing ??= writeNext().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  const timer = setInterval(() => {
    // It never rejects; the lint cannot know.
    write().catch(() => undefined);
  }, everyMs).unref();

  return {
    ...counts,
    write,
    async close() {
      clearInterval(timer);
      // Whatever is under way first, then what has gathered since.
      await write();
      await write();
    },
  };
}
