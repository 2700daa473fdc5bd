import { setTimeout as wait } from "node:timers/promises";
import type { Queryable } from "../../db/pool.ts";
import { closingChecks } from "./hour-checks.ts";
import { type CheckResult, runCheck } from "./reconcile.ts";

// Closes hours of the ledger, oldest first; server/sql/hours.sql describes the steps. Each step is a separate transaction.

export interface CloseOptions {
  /** The time by the database's clock. For tests. */
  now?: Date | undefined;
  signal?: AbortSignal | undefined;
  onClosed?: ((closed: ClosedHour) => void) | undefined;
  /** How long to wait for transactions that began before the hour was announced. */
  waitMs?: number;
}

export interface ClosedHour {
  hour: string;
  entries: number;
  wallets: number;
}

export interface ClosedHours {
  closed: ClosedHour[];
  /**
   * The reason no more hours were closed: "open" if no other is due, "differs" if the next one does not verify, otherwise the
   * condition that it waits for.
   */
  state: string;
  /** Results of the hours that were verified. */
  checks: CheckResult[];
}

const pollMs = 50;

/** Verifies and closes every hour that is due. An hour with differences stays open, and so do later ones. */
export async function closeHours(owner: Queryable, options: CloseOptions = {}): Promise<ClosedHours> {
  const closed: ClosedHour[] = [];
  const checks: CheckResult[] = [];
  const deadline = performance.now() + (options.waitMs ?? 5_000);
  while (!options.signal?.aborted) {
    const { hour, state } = await prepareHour(owner, options.now);
    if (state === "announced" || state === "marked") continue;
    // Searches are transactions too, so at least those in flight have to end.
    if (state === "transactions" && performance.now() < deadline) {
      await wait(pollMs);
      continue;
    }
    if (state !== "ready") return { closed, state, checks };
    const found = await verifyHour(owner, hour);
    checks.push(...found);
    if (found.some(({ differing }) => differing > 0)) return { closed, state: "differs", checks };
    const done = await closeHour(owner, hour);
    closed.push(done);
    options.onClosed?.(done);
  }
  return { closed, state: "aborted", checks };
}

async function prepareHour(owner: Queryable, now: Date | undefined): Promise<{ hour: Date; state: string }> {
  const { rows } = await owner.query<{ hour: Date; state: string }>(
    "select hour, state from pb.prepare_hour(coalesce($1, clock_timestamp()))",
    [now ?? null],
  );
  if (!rows[0]) throw new Error("pb.prepare_hour returned no row");
  return rows[0];
}

async function verifyHour(owner: Queryable, hour: Date): Promise<CheckResult[]> {
  const { rows } = await owner.query<{ since: Date }>(
    "select retained_since::timestamp at time zone 'utc' as since from pb.retention",
  );
  const results: CheckResult[] = [];
  for (const check of closingChecks(hour, rows[0]?.since ?? hour)) {
    const result = await runCheck(owner, check);
    for (const difference of result.sample) difference.subject += ` in ${hour.toISOString()}`;
    results.push(result);
  }
  return results;
}

async function closeHour(owner: Queryable, hour: Date): Promise<ClosedHour> {
  const { rows } = await owner.query<{ entries: bigint; wallets: bigint }>("select * from pb.close_hour($1)", [hour]);
  return { hour: hour.toISOString(), entries: Number(rows[0]?.entries), wallets: Number(rows[0]?.wallets) };
}
