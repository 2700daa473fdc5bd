import type { Queryable } from "./pool.ts";

// Search ids, sessions and job times use the clock of this machine, and the ledger that of the database. A process whose clock
// is wrong by days fails every search.

/** Beyond this, a process gets no traffic and runs no jobs. */
export const maxOffsetSeconds = 60;

export interface ClockWatch {
  /** How far this machine's clock was ahead of the database's at the last measurement; negative if it was behind. */
  offsetSeconds(): number;
  /** Measures now. Returns why this process must not work, or undefined if it may. Rejects if the database is unavailable. */
  measure(): Promise<string | undefined>;
  /** The result of the last measurement. */
  lastFault(): string | undefined;
  close(): void;
}

export function startClockWatch({ db, intervalMs = 5_000 }: { db: Queryable; intervalMs?: number }): ClockWatch {
  let offset = 0;

  async function measure(): Promise<string | undefined> {
    const sentAt = Date.now();
    const { rows } = await db.query<{ now: Date }>("select clock_timestamp() as now");
    const [row] = rows;
    if (!row) throw new Error("the database returned no time");
    offset = offsetMs(row.now.getTime(), sentAt, Date.now()) / 1_000;
    return lastFault();
  }

  function lastFault(): string | undefined {
    if (Math.abs(offset) <= maxOffsetSeconds) return undefined;
    return `This machine's clock is ${describeOffset(offset)} the database's. Correct it.`;
  }

  const timer = setInterval(() => {
    measure().catch(() => undefined);
  }, intervalMs).unref();
  return { offsetSeconds: () => offset, measure, lastFault, close: () => clearInterval(timer) };
}

/** The smallest offset that explains a clock which was read between the two times. Zero if it is between them. */
export function offsetMs(clock: number, sentAt: number, receivedAt: number): number {
  if (clock < sentAt) return sentAt - clock;
  return Math.min(receivedAt - clock, 0);
}

/** "90 s ahead of" or "5 s behind". */
export function describeOffset(seconds: number): string {
  return `${Math.round(Math.abs(seconds))} s ${seconds > 0 ? "ahead of" : "behind"}`;
}
