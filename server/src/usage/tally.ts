import { randomUUIDv7 } from "node:crypto";
import { DatabaseError } from "pg";
import type { Queryable } from "../db/pool.ts";
import type { Log } from "../telemetry/log.ts";
import { type Counts, createCounts, type TakenCounts } from "./counts.ts";

// Counts what the ledger does not record: requests refused before a hold, and calls to upstreams with their costs. Counters
// are kept in memory and written every few seconds in one statement, and when the server stops. A server that crashes loses
// its last few seconds. A batch whose acknowledgement was lost is resent under the same number and counts once. No decision
// about money depends on these.

export interface Tally extends Omit<Counts, "take"> {
  /** Writes the counters. Never rejects: a failed batch is resent with the next write. */
  write: () => Promise<void>;
  /** Writes a last time and stops the timer. */
  close: () => Promise<void>;
}

export interface TallyOptions {
  /** Connects as the ledger role. */
  db: Queryable;
  log: Pick<Log, "warn" | "error">;
  /** Identifies this process. */
  writer?: string;
  intervalMs?: number;
  maxRows?: number;
  now?: () => number;
}

export function createTally({ db, log, writer = randomUUIDv7(), intervalMs = 5_000, ...limits }: TallyOptions): Tally {
  const { take, ...counts } = createCounts(limits);
  let batches = 0;
  let unsent: (TakenCounts & { number: number }) | undefined;
  let writing: Promise<void> | undefined;

  function nextBatch(): typeof unsent {
    const taken = take();
    if (!taken) return undefined;
    if (taken.uncounted > 0) log.warn({ requests: taken.uncounted }, "usage tally full, some requests not counted");
    batches += 1;
    return { number: batches, ...taken };
  }

  async function writeNext(): Promise<void> {
    unsent ??= nextBatch();
    if (!unsent) return;
    const { number, refusals, upstreams, wallets } = unsent;
    try {
      await db.query("select pb.write_tally($1, $2, $3, $4, $5)", [writer, number, refusals, upstreams, wallets]);
      unsent = undefined;
    } catch (err) {
      const isFinal = err instanceof DatabaseError && /^(?:22|23|42|P0)/.test(err.code ?? "");
      if (isFinal) unsent = undefined;
      if (isFinal) log.error({ err }, "usage tally rejected by the database, batch dropped");
      else log.warn({ err }, "usage tally not written, will retry");
    }
  }

  function write(): Promise<void> {
    writing ??= writeNext().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  const timer = setInterval(() => {
    // Never rejects; the catch satisfies the linter.
    write().catch(() => undefined);
  }, intervalMs).unref();

  return {
    ...counts,
    write,
    async close() {
      clearInterval(timer);
      // The first call may join a write in progress; the second writes what was counted since.
      await write();
      await write();
      if (unsent) log.error({ upstreams: unsent.upstreams }, "usage tally lost, database unavailable at shutdown");
    },
  };
}
