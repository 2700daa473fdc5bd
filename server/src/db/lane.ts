import { setTimeout as wait } from "node:timers/promises";

// Batching without a timer. A lane has one statement in flight and queues the items that arrive meanwhile; when the
// statement returns, the next one sends all of them. When idle, an item is sent at the end of the current event loop turn.
// Under load, batches grow and share one commit (fsync).
//
//   submit -> waiting (bounded) -> sent -> result
//                                   |-- definite error: each item is sent on its own, so that only the faulty one fails
//                                   `-- other errors: it is unknown whether the batch committed; the same ids are sent
//                                       again until the item's deadline, then OutcomeUnknown

/** The lane is full, or the owner's half of it. The item was not sent. */
export class LaneFull extends Error {}

/** The deadline passed before the item was sent, or after its batch failed with a definite error. It is not committed. */
export class NeverSent extends Error {}

/** The item was sent, and its outcome was not known before the deadline. */
export class OutcomeUnknown extends Error {}

export interface LaneOptions<Item, Result> {
  /** `isResend`: some of the items were sent before and may already be committed. */
  send: (items: readonly Item[], isResend: boolean) => Promise<Result[]>;
  /** Items of one owner keep their order. Owners are served round-robin, so that a busy one does not starve the others. */
  ownerOf: (item: Item) => string;
  timeoutMs: number;
  maxWaiting?: number;
  maxPerBatch?: number;
  /** Called when a batch is sent. The function it returns is called when the last item is settled. */
  onBatch?: (items: readonly Item[]) => (() => void) | undefined;
}

export interface Lane<Item, Result> {
  submit(item: Item): Promise<Result>;
  waiting(): number;
}

interface Ticket<Item, Result> {
  item: Item;
  deadline: number;
  /** An earlier attempt may have committed. A later failure of the same item does not prove otherwise. */
  mayBeCommitted: boolean;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  const { send, ownerOf, timeoutMs, maxWaiting = 2_000, maxPerBatch = 250, onBatch } = options;
  let queues = new Map<string, Ticket<Item, Result>[]>();
  let waiting = 0;
  let isBusy = false;

  function submit(item: Item): Promise<Result> {
    const owner = ownerOf(item);
    const queue = queues.get(owner) ?? [];
    // One owner can fill at most half of the lane, so that the others are not rejected.
    if (waiting >= maxWaiting || queue.length >= maxWaiting / 2) return Promise.reject(new LaneFull());
    return new Promise((resolve, reject) => {
      queue.push({ item, deadline: performance.now() + timeoutMs, mayBeCommitted: false, resolve, reject });
      queues.set(owner, queue);
      waiting += 1;
      if (!isBusy) drainSoon();
    });
  }

  /** Waits for all items of this event loop turn: the cost of a statement hardly depends on the number of items. */
  function drainSoon(): void {
    isBusy = true;
    setImmediate(drain);
  }

  function drain(): void {
    const { batch, rest } = takeRoundRobin(queues, maxPerBatch);
    queues = rest;
    waiting -= batch.length;
    const onEnd = onBatch?.(itemsOf(batch));
    // Never rejects: every ticket is resolved or rejected.
    settle(batch).finally(onEnd).then(drainNext, drainNext);
  }

  function drainNext(): void {
    if (waiting > 0) drainSoon();
    else isBusy = false;
  }

  async function settle(batch: Ticket<Item, Result>[]): Promise<void> {
    let unsettled = batch;
    for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      unsettled = unsettled.filter(isBeforeDeadline);
      if (unsettled.length === 0) return;
      try {
        const results = await send(
          itemsOf(unsettled),
          unsettled.some((ticket) => ticket.mayBeCommitted),
        );
        for (const [index, ticket] of unsettled.entries()) ticket.resolve(results[index] as Result);
        return;
      } catch (error) {
        if (isDefinite(error)) return unsettled.length === 1 ? fail(unsettled[0], error) : await settleEach(unsettled);
        for (const ticket of unsettled) ticket.mayBeCommitted = true;
        await wait(pauseMs);
      }
    }
  }

  function fail(ticket: Ticket<Item, Result> | undefined, error: Error): void {
    ticket?.reject(ticket.mayBeCommitted ? new OutcomeUnknown("failed when sent again", { cause: error }) : error);
  }

  async function settleEach(batch: Ticket<Item, Result>[]): Promise<void> {
    for (const ticket of batch) await settle([ticket]);
  }

  function isBeforeDeadline(ticket: Ticket<Item, Result>): boolean {
    if (performance.now() < ticket.deadline) return true;
    ticket.reject(ticket.mayBeCommitted ? new OutcomeUnknown() : new NeverSent());
    return false;
  }

  return { submit, waiting: () => waiting };
}

/**
 * Takes items round-robin by owner. The next batch continues with the owner whose turn it is. Returns the rest in a new
 * map, because reusing the map would be slow for the garbage collector: see decision 0009.
 */
function takeRoundRobin<One>(queues: Map<string, One[]>, max: number): { batch: One[]; rest: Map<string, One[]> } {
  const batch: One[] = [];
  const turns = [...queues];
  let next = 0;
  for (; next < turns.length && batch.length < max; next += 1) {
    // No queue is empty.
    const [owner, queue] = turns[next] as [string, One[]];
    batch.push(queue.shift() as One);
    if (queue.length > 0) turns.push([owner, queue]);
  }
  return { batch, rest: new Map(turns.slice(next)) };
}

function itemsOf<Item>(tickets: readonly { item: Item }[]): Item[] {
  return tickets.map(({ item }) => item);
}

/**
 * Only these classes of SQLSTATE guarantee that nothing was committed and that a retry would fail the same way: invalid
 * data, constraint violation, invalid statement, raised by our own functions. Network errors can have a five-character
 * code too ("EPIPE"), so the error must also have the severity that only PostgreSQL sends.
 */
export function isDefinite(error: unknown): error is Error {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return false;
  return /^(22|23|42|P0)/.test(String(error.code));
}
