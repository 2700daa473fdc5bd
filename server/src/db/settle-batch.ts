import { isDisconnect } from "./connection-errors.ts";
import { RefusedDatabase } from "./fence.ts";
import { NoPrimary } from "./find-primary.ts";
import { sqlStates } from "./sql-states.ts";

// One attempt to send a batch, and the meaning of each item's result or error.
//
//   result          the item is settled
//   busy            the owner is locked by another transaction: nothing changed, the item can be sent again
//   final error     rolled back, and would fail again: each item is sent separately, so that only the faulty one fails
//   rolled back     rolled back, and may succeed later (lock timeout, deadlock): the item can be sent again
//   unavailable     no connection to a primary: the item may wait longer. Otherwise as below
//   any other       it is unknown whether the batch committed: the item is in doubt and can be sent again with the same id

/** The deadline passed and the item is not committed: it was never sent, or every attempt was rolled back. */
export class NeverSent extends Error {}

/** The item was sent, and its outcome was not known before the deadline. */
export class OutcomeUnknown extends Error {}

/** Result of an item whose owner is locked by another transaction. */
export const busy = Symbol("busy");

/**
 * The behavior of a statement when another transaction has locked an owner. "long" and "short": wait, then fail. "none": return
 * `busy` for the owner's items.
 */
export type LockWait = "long" | "short" | "none";

export interface SendOptions {
  /** Some of the items were sent before and may already be committed. */
  isResend: boolean;
  lockWait: LockWait;
}

export type Send<Item, Result> = (items: readonly Item[], options: SendOptions) => Promise<(Result | typeof busy)[]>;

export interface Ticket<Item, Result> {
  item: Item;
  deadline: number;
  /** Replaces the deadline while the database is unavailable, so that a failover does not fail the item. */
  outageDeadline: number;
  /** An earlier attempt may have committed. Never reset: no later error of the same item proves the contrary. */
  isInDoubt: boolean;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

/** Shared by the statements of a lane. */
export interface Outage {
  /** When the database was last found unavailable. */
  lastAt: number;
  /** How much longer items wait then: long enough for those that queued up, and for the pause between attempts. */
  extensionMs: number;
}

export interface Unsettled<Item, Result> {
  busy: Ticket<Item, Result>[];
  /** Tickets to send again. */
  failed: Ticket<Item, Result>[];
  /** True if they failed because an owner stayed locked. */
  isLockTimeout: boolean;
}

/** Settles tickets whose outcome is known or whose deadline has passed, and returns the others. Never rejects. */
export async function settleBatch<Item, Result>(
  send: Send<Item, Result>,
  batch: readonly Ticket<Item, Result>[],
  lockWait: LockWait,
  outage: Outage,
): Promise<Unsettled<Item, Result>> {
  const tickets = batch.filter((ticket) => isBeforeDeadline(ticket, outage));
  if (tickets.length === 0) return settled();
  try {
    const isResend = tickets.some(({ isInDoubt }) => isInDoubt);
    const results = await send(
      tickets.map(({ item }) => item),
      { isResend, lockWait },
    );
    return { ...settled(), busy: resolveEach(tickets, results) };
  } catch (error) {
    if (isFinal(error))
      return tickets.length === 1 ? fail(tickets, error) : await settleEach(send, tickets, lockWait, outage);
    if (isUnavailable(error)) outage.lastAt = performance.now();
    if (!isRolledBack(error)) for (const ticket of tickets) ticket.isInDoubt = true;
    return { busy: [], failed: tickets, isLockTimeout: isLockTimeout(error) };
  }
}

function resolveEach<Item, Result>(
  tickets: readonly Ticket<Item, Result>[],
  results: readonly (Result | typeof busy)[],
): Ticket<Item, Result>[] {
  const left: Ticket<Item, Result>[] = [];
  for (const [index, ticket] of tickets.entries()) {
    const result = results[index] as Result | typeof busy;
    if (result === busy) left.push(ticket);
    else ticket.resolve(result);
  }
  return left;
}

function fail<Item, Result>(tickets: readonly Ticket<Item, Result>[], error: Error): Unsettled<Item, Result> {
  for (const ticket of tickets) {
    ticket.reject(ticket.isInDoubt ? new OutcomeUnknown("failed when sent again", { cause: error }) : error);
  }
  return settled();
}

function settled<Item, Result>(): Unsettled<Item, Result> {
  return { busy: [], failed: [], isLockTimeout: false };
}

async function settleEach<Item, Result>(
  send: Send<Item, Result>,
  batch: readonly Ticket<Item, Result>[],
  lockWait: LockWait,
  outage: Outage,
): Promise<Unsettled<Item, Result>> {
  const left = settled<Item, Result>();
  for (const ticket of batch) {
    const one = await settleBatch(send, [ticket], lockWait, outage);
    left.busy.push(...one.busy);
    left.failed.push(...one.failed);
    left.isLockTimeout ||= one.isLockTimeout;
  }
  return left;
}

/** Returns whether the ticket can be sent again. Rejects it if its deadline has passed. */
export function isBeforeDeadline<Item, Result>(ticket: Ticket<Item, Result>, outage: Outage): boolean {
  const now = performance.now();
  if (now < ticket.deadline || now < Math.min(ticket.outageDeadline, outage.lastAt + outage.extensionMs)) return true;
  ticket.reject(ticket.isInDoubt ? new OutcomeUnknown() : new NeverSent());
  return false;
}

/**
 * Only these classes of SQLSTATE guarantee that nothing was committed and that a retry would fail the same way: invalid
 * data, constraint violation, invalid statement, raised by our own functions. Network errors can have a five-character
 * code too ("EPIPE"), so the error must also have the severity that only PostgreSQL sends.
 */
export function isFinal(error: unknown): error is Error {
  return error instanceof Error && "severity" in error && /^(22|23|42|P0)/.test(codeOf(error));
}

const notPrimary = ["25006", sqlStates.otherTimeline];

/**
 * Lock timeout, statement timeout or cancellation, deadlock, serialization failure, a replica, or another timeline: PostgreSQL
 * rolled the statement back and kept the connection. A FATAL error ends the connection, and may have come after the commit.
 */
function isRolledBack(error: unknown): boolean {
  if (!(error instanceof Error) || !("severity" in error) || error.severity !== "ERROR") return false;
  return ["55P03", "57014", "40P01", "40001", ...notPrimary].includes(codeOf(error));
}

/**
 * There was no connection to a primary: none was found, the connection was refused or lost, PostgreSQL is starting or stopping
 * (FATAL), or the connection leads to a replica or another timeline. A slow database is not unavailable.
 */
function isUnavailable(error: unknown): boolean {
  if (error instanceof NoPrimary || error instanceof RefusedDatabase) return true;
  if (!(error instanceof Error)) return false;
  if ("severity" in error) return error.severity !== "ERROR" || notPrimary.includes(codeOf(error));
  return /^E[A-Z_]+$/.test(codeOf(error)) || isDisconnect(error);
}

export function isLockTimeout(error: unknown): boolean {
  return isRolledBack(error) && error instanceof Error && codeOf(error) === "55P03";
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : "";
}
