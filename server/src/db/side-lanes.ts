import { setTimeout as wait } from "node:timers/promises";
import type { Limiter } from "./limiter.ts";
import { type Outage, type Send, settleBatch, type Ticket } from "./settle-batch.ts";

// Lanes of single owners that are locked or hot. A side lane waits for its owner's lock until the deadline of its items.

export interface SideLanes<Item, Result> {
  /** Undefined if the owner has no side lane. */
  find(owner: string): SideLane<Item, Result> | undefined;
  /**
   * Opens a lane for an owner that has none, with the items that the owner has waiting elsewhere. Returns false if there
   * are already as many lanes of locked owners as allowed.
   */
  open(owner: string, queue: Ticket<Item, Result>[]): boolean;
  push(lane: SideLane<Item, Result>, ticket: Ticket<Item, Result>): void;
  waiting(): number;
}

export interface SideLane<Item, Result> {
  owner: string;
  queue: Ticket<Item, Result>[];
  isRunning: boolean;
  /** The lane stays open until then, although it is empty. */
  openUntil: number;
}

/** With more lanes than connections, they would wait for each other longer than for the locks. */
const maxLocked = 4;

/** After a lock timeout. The next item of an owner that is still locked then does not delay the shared lane again. */
const stayOpenMs = 10_000;

export interface SideLaneOptions<Item, Result> {
  send: Send<Item, Result>;
  maxPerBatch: number;
  limiters: { locked: Limiter; hot: Limiter };
  /** The lane of a hot owner stays open while it is empty. */
  isHot: (owner: string) => boolean;
  onBatch: ((items: readonly Item[]) => (() => void) | undefined) | undefined;
  outage: Outage;
}

export function createSideLanes<Item, Result>(options: SideLaneOptions<Item, Result>): SideLanes<Item, Result> {
  const { send, maxPerBatch, limiters, isHot, onBatch, outage } = options;
  // A few at most, and an array for the garbage collector: see decision 0009.
  let lanes: SideLane<Item, Result>[] = [];
  let waiting = 0;

  function isOpen(lane: SideLane<Item, Result>): boolean {
    return lane.isRunning || isHot(lane.owner) || performance.now() < lane.openUntil;
  }

  function push(lane: SideLane<Item, Result>, ...tickets: Ticket<Item, Result>[]): void {
    lane.queue.push(...tickets);
    waiting += tickets.length;
    if (lane.isRunning || lane.queue.length === 0) return;
    lane.isRunning = true;
    // Waits for all items of this event loop turn. Never rejects: every ticket is resolved or rejected.
    setImmediate(() => {
      drain(lane).catch(() => undefined);
    });
  }

  async function drain(lane: SideLane<Item, Result>): Promise<void> {
    for (let pauseMs = 25; lane.queue.length > 0; ) {
      let failed = 0;
      const limiter = isHot(lane.owner) ? limiters.hot : limiters.locked;
      await limiter.run(lane.owner, async () => {
        failed = await sendNext(lane);
      });
      // Not inside the limiter, so that another lane can use the connection.
      if (failed > 0) await wait(pauseMs);
      pauseMs = failed > 0 ? Math.min(pauseMs * 2, 1_000) : 25;
    }
    lane.isRunning = false;
  }

  /** Returns the number of items that have to be sent again. They stay at the head of the queue. */
  async function sendNext(lane: SideLane<Item, Result>): Promise<number> {
    const batch = lane.queue.splice(0, maxPerBatch);
    waiting -= batch.length;
    const onEnd = onBatch?.(batch.map(({ item }) => item));
    const { failed, isLockTimeout } = await settleBatch(send, batch, "long", outage);
    onEnd?.();
    lane.queue.unshift(...failed);
    waiting += failed.length;
    if (isLockTimeout) lane.openUntil = performance.now() + stayOpenMs;
    return failed.length;
  }

  return {
    find(owner) {
      // Removed as soon as it is closed: if its owner became hot again, a lane that is still listed would be open immediately,
      // although the shared lane may have items of the owner.
      if (!lanes.every(isOpen)) lanes = lanes.filter(isOpen);
      return lanes.find((lane) => lane.owner === owner);
    },
    open(owner, queue) {
      lanes = lanes.filter(isOpen);
      if (!isHot(owner) && lanes.filter((lane) => !isHot(lane.owner)).length >= maxLocked) return false;
      const lane = { owner, queue: [], isRunning: false, openUntil: 0 };
      lanes.push(lane);
      push(lane, ...queue);
      return true;
    },
    push: (lane, ticket) => push(lane, ticket),
    waiting: () => waiting,
  };
}
