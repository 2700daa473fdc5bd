import { randomUUIDv7 } from "node:crypto";
import type { Queryable } from "../db/pool.ts";
import { isFinal } from "../db/settle-batch.ts";
import type { Log } from "../telemetry/log.ts";
import { type Counts, createCounts, type TakenCounts } from "./counts.ts";
import type { UnheldRequest } from "./unheld-requests.ts";
import { createRequestWriter } from "./write-requests.ts";

// Records events that the ledger does not: refusals and replays, and calls to upstreams with their costs. A limited number of refusals
// and replays is stored individually, and counted with that; the others, and the calls, are counted in memory and written every
// few seconds in one statement, and when the server stops. A server that crashes loses its last few seconds. A batch whose
// acknowledgement was lost is resent under the same number and counts once. No decision about money depends on these.

export interface Tally extends Omit<Counts, "take" | "countUnheld" | "recordLost"> {
  recordUnheld: (request: UnheldRequest) => void;
  /** Writes requests and counters. Never rejects: a failed batch is resent with the next write. */
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
  /** How many servers share the limits of stored requests. */
  servers?: number;
  now?: () => number;
}

export function createTally(options: TallyOptions): Tally {
  const { db, log, writer = randomUUIDv7(), intervalMs = 5_000, servers, ...limits } = options;
  const { take, countUnheld, recordLost, ...counts } = createCounts(limits);
  const onRejected = (rejected: readonly UnheldRequest[]): void => rejected.forEach(countUnheld);
  const requests = createRequestWriter({ db, log, writer, servers, now: limits.now, onRejected });
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
    const { number, refusals, upstreams, wallets, incompleteHours } = unsent;
    try {
      const values = [writer, number, refusals, upstreams, wallets, incompleteHours];
      await db.query("select pb.write_tally($1, $2, $3, $4, $5, $6)", values);
      unsent = undefined;
    } catch (err) {
      if (!isFinal(err)) return log.warn({ err }, "usage tally not written, will retry");
      log.error({ err }, "usage tally rejected by the database, batch dropped");
      recordLost({ refusals });
      unsent = undefined;
    }
  }

  async function write(): Promise<void> {
    await Promise.all([requests.write(), writeCounts()]);
  }

  function writeCounts(): Promise<void> {
    writing ??= writeNext().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  const timer = setInterval(() => {
    // Never rejects; the catch satisfies the linter.
    writeCounts().catch(() => undefined);
  }, intervalMs).unref();

  return {
    ...counts,
    recordUnheld(request) {
      if (!requests.add(request)) countUnheld(request);
    },
    write,
    async close() {
      clearInterval(timer);
      const lost = await requests.close();
      // The first call may join a write in progress; the second writes what was counted since.
      await writeCounts();
      await writeCounts();
      if (!unsent && lost.length === 0) return;
      const fields = { upstreams: unsent?.upstreams, requests: lost.length };
      log.error(fields, "usage tally lost, database unavailable at shutdown");
    },
  };
}
