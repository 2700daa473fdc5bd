import { setTimeout as wait } from "node:timers/promises";
import { createHotOwners } from "./hot-owners.ts";
import type { Limiter } from "./limiter.ts";
import { isBeforeDeadline, type Send, settleBatch, type Ticket } from "./settle-batch.ts";
import { createSideLanes } from "./side-lanes.ts";

// Batching without a timer. A lane has one statement in flight and queues the items that arrive meanwhile. When the
// statement returns, the next one sends all of them. When idle, an item is sent at the end of the current event loop turn.
// Under load, batches grow and share one commit (fsync).
//
//   submit -> waiting (bounded) -> sent, waits a short time for locks -> result
//                                   |-- lock timeout: sent again without the locked owners
//                                   |     `-- busy: the owner moves to a side lane, which waits for its lock
//                                   `-- error: sent again until the item's deadline, see settle-batch.ts
//
// A locked owner therefore delays the others only once and briefly. A side lane has the items of one owner. Until it is empty,
// all later items of the owner go there, so that their order is kept. An owner that sends a large share of all items gets a
// side lane too, because with several servers its lock is nearly always taken, and batches that contain it would wait for each
// other. Decision 0010 has the measurements.

/** The lane is full, or the owner's half of it. The item was not sent. */
export class LaneFull extends Error {
  readonly max: number;

  constructor(max: number) {
    super();
    this.max = max;
  }
}

export interface LaneOptions<Item, Result> {
  send: Send<Item, Result>;
  /** Items of one owner keep their order. Owners are served round-robin, so that a busy one does not starve the others. */
  ownerOf: (item: Item) => string;
  timeoutMs: number;
  /** Replaces `timeoutMs` while the database is unavailable. Default: `timeoutMs`. */
  outageTimeoutMs?: number;
  maxWaiting?: number;
  maxPerBatch?: number;
  /** Limit the statements of side lanes; several lanes can share them. Without limiters, there are no side lanes. */
  limiters?: { locked: Limiter; hot: Limiter };
  /** Called when a batch is sent. The function it returns is called when the last item is settled or has moved on. */
  onBatch?: (items: readonly Item[]) => (() => void) | undefined;
}

export interface Lane<Item, Result> {
  /** `maxOutageMs` limits the wait for an unavailable database to the time that the caller has. */
  submit(item: Item, maxOutageMs?: number): Promise<Result>;
  waiting(): number;
}

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  const { send, ownerOf, timeoutMs, maxWaiting = 2_000, maxPerBatch = 250, limiters, onBatch } = options;
  const outage = { lastAt: Number.NEGATIVE_INFINITY, extensionMs: timeoutMs };
  const hotOwners = createHotOwners();
  const isHot = (owner: string): boolean => hotOwners.list().includes(owner);
  const sideLanes = limiters && createSideLanes({ send, maxPerBatch, limiters, isHot, onBatch, outage });
  const queues = createOwnerQueues<Ticket<Item, Result>>();
  let isBusy = false;

  const waiting = (): number => queues.size() + (sideLanes?.waiting() ?? 0);

  function submit(item: Item, maxOutageMs = Number.POSITIVE_INFINITY): Promise<Result> {
    const owner = ownerOf(item);
    const sideLane = sideLanes?.find(owner);
    const ownWaiting = sideLane ? sideLane.queue.length : queues.sizeOf(owner);
    // One owner can fill at most half of the lane, so that the others are not rejected.
    if (waiting() >= maxWaiting) return Promise.reject(new LaneFull(maxWaiting));
    if (ownWaiting >= maxWaiting / 2) return Promise.reject(new LaneFull(maxWaiting / 2));
    const now = performance.now();
    if (sideLanes) hotOwners.count(owner, now);
    return new Promise((resolve, reject) => {
      const outageDeadline = now + Math.min(options.outageTimeoutMs ?? timeoutMs, maxOutageMs);
      const ticket = { item, deadline: now + timeoutMs, outageDeadline, isInDoubt: false, resolve, reject };
      if (sideLane) sideLanes?.push(sideLane, ticket);
      else queues.push(owner, ticket);
      if (!isBusy && queues.size() > 0) drainSoon();
    });
  }

  /** Waits for all items of this event loop turn: the cost of a statement hardly depends on the number of items. */
  function drainSoon(): void {
    isBusy = true;
    setImmediate(drain);
  }

  function drain(): void {
    // Only here, where no statement is in flight that could still have items of the owner.
    for (const owner of hotOwners.list()) if (!sideLanes?.find(owner)) moveToSideLane(owner, []);
    const batch = queues.takeBatch(maxPerBatch);
    if (batch.length === 0) return drainNext();
    const onEnd = onBatch?.(batch.map(({ item }) => item));
    // Never rejects: every ticket is resolved or rejected.
    settle(batch).finally(onEnd).then(drainNext, drainNext);
  }

  function drainNext(): void {
    if (queues.size() > 0) drainSoon();
    else isBusy = false;
  }

  async function settle(batch: Ticket<Item, Result>[]): Promise<void> {
    let left = batch;
    for (let pauseMs = 25; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      let unsettled = await settleBatch(send, left, sideLanes ? "short" : "long", outage);
      if (sideLanes && unsettled.isLockTimeout) unsettled = await settleBatch(send, unsettled.failed, "none", outage);
      for (const [owner, tickets] of Map.groupBy(unsettled.busy, ({ item }) => ownerOf(item))) {
        moveToSideLane(owner, tickets);
      }
      left = unsettled.failed;
      if (left.length === 0) return;
      await wait(pauseMs);
      // Items that arrived since can have earlier deadlines than those of the batch.
      queues.keep((ticket) => isBeforeDeadline(ticket, outage));
    }
  }

  /** `sent` are the owner's items that came back from the database. They stay ahead of those that arrived later. */
  function moveToSideLane(owner: string, sent: Ticket<Item, Result>[]): void {
    const tickets = [...sent, ...queues.take(owner)];
    if (!sideLanes?.open(owner, tickets)) queues.push(owner, ...tickets);
  }

  return { submit, waiting };
}

interface OwnerQueues<One> {
  push(owner: string, ...items: One[]): void;
  take(owner: string): One[];
  /** Removes the items for which the function returns false. */
  keep(isKept: (item: One) => boolean): void;
  /** Round-robin by owner. The next batch continues with the owner whose turn it is. */
  takeBatch(max: number): One[];
  sizeOf(owner: string): number;
  size(): number;
}

function createOwnerQueues<One>(): OwnerQueues<One> {
  let queues = new Map<string, One[]>();
  let size = 0;
  return {
    push(owner, ...items) {
      if (items.length === 0) return;
      const queue = queues.get(owner);
      if (queue) queue.push(...items);
      else queues.set(owner, items);
      size += items.length;
    },
    take(owner) {
      const queue = queues.get(owner) ?? [];
      queues.delete(owner);
      size -= queue.length;
      return queue;
    },
    keep(isKept) {
      for (const [owner, queue] of queues) {
        const kept = queue.filter(isKept);
        size -= queue.length - kept.length;
        if (kept.length > 0) queues.set(owner, kept);
        else queues.delete(owner);
      }
    },
    takeBatch(max) {
      const batch: One[] = [];
      const turns = [...queues];
      let next = 0;
      for (; next < turns.length && batch.length < max; next += 1) {
        // No queue is empty.
        const [owner, queue] = turns[next] as [string, One[]];
        batch.push(queue.shift() as One);
        if (queue.length > 0) turns.push([owner, queue]);
      }
      // A new map, because reusing one would be slow for the garbage collector: see decision 0009.
      queues = new Map(turns.slice(next));
      size -= batch.length;
      return batch;
    },
    sizeOf: (owner) => queues.get(owner)?.length ?? 0,
    size: () => size,
  };
}
