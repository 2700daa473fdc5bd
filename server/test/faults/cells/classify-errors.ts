import type { Outages } from "./faults.ts";
import { isSuccess, type LoadEntry } from "./fleet-load.ts";
import type { Move } from "./move-account.ts";

/** Failed searches by their cause. */
export interface Errors {
  /** The account was being moved, and no process was killed. */
  move: LoadEntry[];
  /** The mover of this account was killed. */
  moverKilled: LoadEntry[];
  /** A server or database of a cell of the account was killed, now or in an earlier attempt with the same Idempotency-Key. */
  outage: LoadEntry[];
  /** None of these. */
  unexplained: LoadEntry[];
}

export function classifyErrors(
  entries: readonly LoadEntry[],
  moves: readonly Move[],
  outages: Pick<Outages, "overlaps">,
): Errors {
  const errors: Errors = { move: [], moverKilled: [], outage: [], unexplained: [] };
  const movesOf = Map.groupBy(moves, ({ account }) => account.walletId);
  // The claim of a killed server is in progress until its hold expires.
  const interruptedKeys = new Set<string | undefined>();
  for (const entry of entries) {
    if (isSuccess(entry)) continue;
    const { walletId, account, sentAt, endedAt, idempotencyKey } = entry;
    const all = movesOf.get(walletId) ?? [];
    const current = all.filter((move) => move.startedAt <= endedAt && move.endedAt >= sentAt);
    const last = all.findLast((move) => move.endedAt < sentAt);
    const cells = [last?.to ?? account.home, ...current.flatMap(({ from, to }) => [from, to])];
    const isAftermath = idempotencyKey !== undefined && interruptedKeys.has(idempotencyKey);
    const hasOutage = isAftermath || outages.overlaps(cells, sentAt, endedAt);
    if (hasOutage) interruptedKeys.add(idempotencyKey);
    errors[findCause(current, hasOutage)].push(entry);
  }
  return errors;
}

function findCause(current: readonly Move[], hasOutage: boolean): keyof Errors {
  if (hasOutage) return "outage";
  if (current.some(({ fault }) => fault === "mover")) return "moverKilled";
  return current.length > 0 ? "move" : "unexplained";
}
