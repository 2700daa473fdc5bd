import { setTimeout as wait } from "node:timers/promises";

// Batching without a timer. A lane has one statement in flight and collects what arrives meanwhile; when the
// statement returns, everything that waits goes out in the next one. Idle, an item is sent at the end of this turn of the
// event loop. Busy, batches grow by themselves and one commit pays for all.
//
//   submit -> waiting (bounded) -> sent -> result
//                                   |-- definite error: each item alone, so that only the guilty one fails
//                                   `-- anything else: the commit is unknown, the same ids are sent again
//                                       until the item's deadline, then OutcomeUnknown

/** The lane is full, or the owner's half of it. Nothing was sent. */
export class LaneFull extends Error {}

/** The item's time was over before it was sent, or sent with others and refused. Nothing was committed. */
export class NeverSent extends Error {}

/** It was sent, and whether it was committed could not be learned in time. */
export class OutcomeUnknown extends Error {}

export interface LaneOptions<Item, Result> {
  /** Sent before: of some of them it is not known whether they were committed then. */
  send: (items: readonly Item[], wereSentBefore: boolean) => Promise<Result[]>;
  /** Items of one owner keep their order; owners take turns, so that a busy one does not starve the others. */
  ownerOf: (item: Item) => string;
  patienceMs: number;
  mostWaiting?: number;
  mostPerBatch?: number;
  /** When a batch is sent; what it returns, when its last item is settled. */
  onBatch?: (items: readonly Item[]) => (() => void) | undefined;
}

export interface Lane<Item, Result> {
  submit(item: Item): Promise<Result>;
  waiting(): number;
}

interface Ticket<Item, Result> {
  item: Item;
  deadline: number;
  /** It was sent once and what became of that is not known: no later refusal of the same can tell. */
  isInDoubt: boolean;
  resolve: (result: Result) => void;
  reject: (error: Error) => void;
}

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  const { send, ownerOf, patienceMs, mostWaiting = 2_000, mostPerBatch = 250, onBatch } = options;
  let queues = new Map<string, Ticket<Item, Result>[]>();
  let waiting = 0;
  let isBusy = false;

  function submit(item: Item): Promise<Result> {
    const owner = ownerOf(item);
    const queue = queues.get(owner) ?? [];
    // One busy owner must not fill the lane, or all the others would be turned away at its door.
    if (waiting >= mostWaiting || queue.length >= mostWaiting / 2) return Promise.reject(new LaneFull());
    return new Promise((resolve, reject) => {
      queue.push({ item, deadline: performance.now() + patienceMs, isInDoubt: false, resolve, reject });
      queues.set(owner, queue);
      waiting += 1;
      if (!isBusy) drainSoon();
    });
  }

  /** When all that has come in this turn of the event loop is in the queue: a statement costs as much as many items in it. */
  function drainSoon(): void {
    isBusy = true;
    setImmediate(drain);
  }

  function drain(): void {
    const { batch, rest } = takeInTurns(queues, mostPerBatch);
    queues = rest;
    waiting -= batch.length;
    const onEnd = onBatch?.(itemsOf(batch));
    // It never rejects: every ticket is resolved or rejected on the way.
    settle(batch).finally(onEnd).then(goOn, goOn);
  }

  function goOn(): void {
    if (waiting > 0) drainSoon();
    else isBusy = false;
  }

  async function settle(batch: Ticket<Item, Result>[]): Promise<void> {
    let open = batch;
    for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      open = open.filter(stillInTime);
      if (open.length === 0) return;
      try {
        const results = await send(itemsOf(open), open.some(isInDoubt));
        for (const [index, ticket] of open.entries()) ticket.resolve(results[index] as Result);
        return;
      } catch (error) {
        if (isDefinite(error)) return open.length === 1 ? refuse(open[0], error) : await settleEachAlone(open);
        for (const ticket of open) ticket.isInDoubt = true;
        await wait(pauseMs);
      }
    }
  }

  function refuse(ticket: Ticket<Item, Result> | undefined, error: Error): void {
    ticket?.reject(ticket.isInDoubt ? new OutcomeUnknown("refused when sent again", { cause: error }) : error);
  }

  async function settleEachAlone(batch: Ticket<Item, Result>[]): Promise<void> {
    for (const ticket of batch) await settle([ticket]);
  }

  function stillInTime(ticket: Ticket<Item, Result>): boolean {
    if (performance.now() < ticket.deadline) return true;
    ticket.reject(ticket.isInDoubt ? new OutcomeUnknown() : new NeverSent());
    return false;
  }

  return { submit, waiting: () => waiting };
}

/**
 * One of each owner's, turn by turn. Who gets no turn any more comes first the next time. The rest is in a new map and not in
 * the same one, which would be slow to forget what was in it: see decision 0009.
 */
function takeInTurns<One>(queues: Map<string, One[]>, most: number): { batch: One[]; rest: Map<string, One[]> } {
  const batch: One[] = [];
  const turns = [...queues];
  let next = 0;
  for (; next < turns.length && batch.length < most; next += 1) {
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

function isInDoubt(ticket: { isInDoubt: boolean }): boolean {
  return ticket.isInDoubt;
}

/**
 * Only these classes of SQLSTATE say for certain that nothing was committed and that sending the same again
 * would fail the same way: bad data, broken constraint, wrong statement, raised by us. A broken connection also
 * carries a five-character code ("EPIPE"), so the severity that only PostgreSQL sends is looked at as well.
 */
export function isDefinite(error: unknown): error is Error {
  if (!(error instanceof Error) || !("severity" in error) || !("code" in error)) return false;
  return /^(22|23|42|P0)/.test(String(error.code));
}
