import { type LimitName, limitProblem } from "../problems/exceeded-limit.ts";
import type { Problem } from "../problems/problems.ts";

// Limits the number of requests in flight in this process. Memory sets a fixed maximum. For CPU, a timer measures event
// loop delay: a single late tick is a burst or a garbage collection and is ignored. If every tick has been late for a
// while, requests arrive faster than they are served, and the limit shrinks with every late tick. It grows back slowly
// when ticks are on time. Admitted requests finish, and the rest are rejected immediately.
//
//   callers    requests whose wallet is known; each wallet can occupy a share of the slots
//   tests      searches with test keys, which are free and can simulate slow responses
//   lookUps    database look-ups of keys that have not worked on this server recently
//   public     requests without a key (pages, sign-in, console requests until the session is known), except while a body is
//              received
//   webhooks   payment webhooks above 16 KiB, from a plausible signature header to the verified body
//
// Work in one pool never takes a slot from another. In the pools without a known wallet, the shares are per network.

export type PoolName = "callers" | "tests" | "lookUps" | "public" | "webhooks";

export interface Admission {
  /** Occupies a slot until the returned function is called. Throws 429 if the owner has used its share, or 503. */
  enter: (pool: PoolName, owner: string) => () => void;
  /** Like enter, but waits for a slot, in order of arrival. */
  enterOrWait: (pool: PoolName, owner: string) => Promise<() => void>;
  /** Counts the handlers in progress, including those that do not know their caller yet. */
  countHandler: (change: 1 | -1) => void;
  /** The reason for rejecting every request, before its caller is known. */
  whyFull: () => Problem | undefined;
  /** Called by the timer. */
  tick: (nowMs: number) => void;
}

export interface AdmissionLimits {
  max: number;
  /** The limit never shrinks below this. */
  min: number;
  /** The part of the slots that one wallet can occupy. */
  walletShare: number;
  /** A tick delayed by more than this is late. */
  maxDelayMs: number;
  /** The limit shrinks after all ticks have been late for this long. */
  overloadedAfterMs: number;
  /** How long a request may wait for a slot. */
  maxWaitMs: number;
}

export const defaultAdmission: Pick<AdmissionLimits, "min" | "maxDelayMs"> = { min: 250, maxDelayMs: 100 };

/** Parts of the slots. */
export const poolParts = { tests: 0.05, lookUps: 0.05, public: 0.05, webhooks: 0.01 };

const intervalMs = 10;

/** Starts the timer. */
export function startAdmission(limits: AdmissionLimits): Admission & { stop(): void } {
  const admission = createAdmission(limits, performance.now());
  const timer = setInterval(() => admission.tick(performance.now()), intervalMs);
  timer.unref();
  return { ...admission, stop: () => clearInterval(timer) };
}

export function createAdmission(limits: AdmissionLimits, nowMs: number): Admission {
  const { max, walletShare, maxDelayMs, overloadedAfterMs, maxWaitMs } = limits;
  const min = Math.min(limits.min, max);
  let lastTickAt = nowMs;
  let lastOnTimeAt = nowMs;
  let limit = max;
  let handlers = 0;
  const scale = (): number => limit / max;
  const part = (fraction: number): number => Math.max(minPool, Math.ceil(max * fraction));
  const pools = {
    callers: createPool({ name: "server_in_flight", share: "wallet_share", max, ownerShare: walletShare }, scale),
    tests: createPool(
      { name: "server_test_in_flight", share: "wallet_share", max: part(poolParts.tests), ownerShare: 0.5 },
      scale,
    ),
    lookUps: createPool(
      { name: "server_look_ups", share: "network_share", max: part(poolParts.lookUps), ownerShare: 0.5 },
      scale,
    ),
    public: createPool(
      { name: "server_public_in_flight", share: "network_share", max: part(poolParts.public), ownerShare: 0.5 },
      scale,
    ),
    webhooks: createPool(
      { name: "server_webhooks_in_flight", share: "network_share", max: part(poolParts.webhooks), ownerShare: 0.5 },
      scale,
    ),
  };
  const { callers } = pools;

  return {
    enter: (pool, owner) => pools[pool].enter(owner),
    enterOrWait: (pool, owner) => pools[pool].enterOrWait(owner, maxWaitMs),
    countHandler: (change) => void (handlers += change),
    whyFull: () => callers.whyFull(),
    tick(now) {
      const isLate = now - lastTickAt > intervalMs + maxDelayMs;
      lastTickAt = now;
      if (!isLate) {
        lastOnTimeAt = now;
        limit = Math.min(max, limit + 1);
      } else if (now - lastOnTimeAt > overloadedAfterMs) {
        limit = Math.max(min, Math.min(limit, handlers) * 0.85);
      }
    },
  };
}

interface PoolRule {
  name: LimitName;
  share: LimitName;
  max: number;
  ownerShare: number;
}

interface Pool {
  enter(owner: string): () => void;
  enterOrWait(owner: string, maxWaitMs: number): Promise<() => void>;
  whyFull(): Problem | undefined;
}

/** No pool and no share shrinks below this. */
const minPool = 4;
const maxOwners = 10_000;
const retryAfterSeconds = 2;
/** Requests that wait for a slot of one pool. Half of them can be of one owner. */
const maxWaiting = 1_000;

function createPool({ name, share, max, ownerShare }: PoolRule, scale: () => number): Pool {
  const counts = new Map<string, number>();
  const queue = createQueue();
  let inFlight = 0;

  const limitNow = (): number => Math.max(Math.min(minPool, max), Math.floor(max * scale()));
  const shareOf = (limit: number): number => Math.max(Math.min(minPool, limit), Math.floor(limit * ownerShare));

  function count(owner: string, change: 1 | -1): void {
    inFlight += change;
    counts.set(owner, (counts.get(owner) ?? 0) + change);
    // Not deleted one by one when they drop to zero: see decision 0009.
    if (counts.size > maxOwners) for (const [id, owned] of counts) if (owned === 0) counts.delete(id);
  }

  function whyFull(): Problem | undefined {
    const limit = limitNow();
    return inFlight < limit ? undefined : limitProblem("overloaded", { limit: name, max: limit, retryAfterSeconds });
  }

  /** While a slow server has free slots, a wallet that is alone on it can use more than its share of them. */
  function maxOwnedNow(): number {
    const limit = limitNow();
    return shareOf(inFlight < limit / 2 ? max : limit);
  }

  const isFree = (owner: string): boolean => inFlight < limitNow() && (counts.get(owner) ?? 0) < maxOwnedNow();

  function whyRejected(owner: string): Problem | undefined {
    const owned = counts.get(owner) ?? 0;
    const maxOwned = maxOwnedNow();
    if (owned < maxOwned) return whyFull();
    // Above the share on a server that is not slow, the owner is the cause.
    const code = owned >= shareOf(max) ? "concurrency_limited" : "overloaded";
    return limitProblem(code, { limit: share, max: maxOwned, retryAfterSeconds });
  }

  function occupy(owner: string): () => void {
    count(owner, 1);
    return () => {
      count(owner, -1);
      queue.start(isFree, occupy);
    };
  }

  return {
    whyFull,
    enter(owner) {
      const rejection = whyRejected(owner);
      if (rejection) throw rejection;
      return occupy(owner);
    },
    async enterOrWait(owner, maxWaitMs) {
      const rejection = whyRejected(owner);
      return rejection ? queue.wait(owner, maxWaitMs, rejection) : occupy(owner);
    },
  };
}

/** Requests that wait for a slot. */
function createQueue() {
  const waiting = new Set<{ owner: string; start(leave: () => void): void }>();
  return {
    async wait(owner: string, maxWaitMs: number, rejection: Problem): Promise<() => void> {
      let ownWaiting = 0;
      for (const other of waiting) if (other.owner === owner) ownWaiting += 1;
      if (ownWaiting >= maxWaiting / 2 || waiting.size >= maxWaiting) throw rejection;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(request);
          reject(rejection);
        }, maxWaitMs);
        const start = (leave: () => void): void => {
          clearTimeout(timer);
          resolve(leave);
        };
        const request = { owner, start };
        waiting.add(request);
      });
    },
    /** Starts those that a slot is free for, in order of arrival. */
    start(isFree: (owner: string) => boolean, occupy: (owner: string) => () => void): void {
      for (const request of waiting) {
        if (!isFree(request.owner)) continue;
        waiting.delete(request);
        request.start(occupy(request.owner));
      }
    },
  };
}
