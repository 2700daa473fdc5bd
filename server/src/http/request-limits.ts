import { randomUUID } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../problems/problems.ts";

// Request limits, shared by searches, management requests and the console: a rate and a number of requests in flight.
// Redis counts them for all servers. When Redis is unavailable or slow, each server counts against its own share: limits
// become less precise, but no request fails because of Redis.

export interface LimitedKey {
  keyId: string;
  searchesPerSecond: number;
  searchesInFlight: number;
}

/** Permission for one request in flight. */
export interface Slot {
  rateLimitPolicy: string;
  rateLimit: string;
  release(): void;
}

export type AcquireSlot = (key: LimitedKey) => Promise<Slot>;

export interface RequestLimitsOptions {
  /** Without Redis, this server counts its own share only. */
  redis: Redis | undefined;
  /** How many servers share the limits. */
  servers: number;
}

/** Counts one request against the key's rate and occupies one of its slots, or rejects with 429. */
export function createRequestLimits(options: RequestLimitsOptions): AcquireSlot {
  const rates = new Map<number, RateLimiterAbstract>();
  const inFlight = countInFlight(options);
  const takeLocally = createLocalRates(options.servers);

  function rateOf(limit: number): RateLimiterAbstract {
    const existing = rates.get(limit);
    if (existing) return existing;
    const created = createRate(options, limit);
    rates.set(limit, created);
    return created;
  }

  return async function acquireSlot(key) {
    const policy = `"key";q=${key.searchesPerSecond};w=1`;
    const [rate, release] = await Promise.all([
      takeLocally(key) ?? takeFromRate(rateOf(key.searchesPerSecond), key.keyId),
      inFlight.enter(key.keyId, key.searchesInFlight),
    ]);
    const rateLimit = `"key";r=${rate.remaining};t=${rate.resetSeconds}`;
    const headers = { "ratelimit-policy": policy, ratelimit: rateLimit };
    if (rate.isOver) {
      release?.();
      const values = { limit: key.searchesPerSecond };
      throw new Problem("rate_limited", { retryAfterSeconds: rate.resetSeconds, headers, values });
    }
    if (!release) throw new Problem("concurrency_limited", { headers, values: { limit: key.searchesInFlight } });
    return { rateLimitPolicy: policy, rateLimit, release };
  };
}

/** Management reads share a few database connections, so their limits are lower than those of searches. */
const managementLimits = { searchesPerSecond: 200, searchesInFlight: 16 };

/**
 * Limits management requests per wallet, because a wallet can have a thousand keys, and separately from searches, so that
 * a key at its search limit can still read its budget.
 */
export function limitWallet(acquireSlot: AcquireSlot, walletId: string, reply: FastifyReply): Promise<void> {
  return occupySlotUntilClosed(acquireSlot, { keyId: `manage ${walletId}`, ...managementLimits }, reply);
}

/** Occupies a slot until the response is closed. */
export async function occupySlotUntilClosed(
  acquireSlot: AcquireSlot,
  key: LimitedKey,
  reply: FastifyReply,
): Promise<void> {
  const slot = await acquireSlot(key);
  // The client may have disconnected while the slot was acquired; then no "close" event follows.
  if (reply.raw.destroyed) slot.release();
  else reply.raw.once("close", () => slot.release());
  reply.headers({ "ratelimit-policy": slot.rateLimitPolicy, ratelimit: slot.rateLimit });
}

/**
 * Half of a large limit is split among the servers, and only requests beyond a server's share ask Redis for the rest. A key
 * far from its limit needs no round trip, and the total still cannot exceed the limit.
 */
function localShare(limit: number, servers: number): number {
  return limit < 100 ? 0 : Math.floor(limit / 2 / servers);
}

interface Taken {
  isOver: boolean;
  remaining: number;
  resetSeconds: number;
}

const maxKeysCounted = 100_000;

/** Takes from this server's share of the key's rate; returns undefined if the share is used up. */
function createLocalRates(servers: number): (key: LimitedKey) => Taken | undefined {
  const windows = new Map<string, { until: number; used: number }>();
  return function takeLocally({ keyId, searchesPerSecond: limit }) {
    const share = localShare(limit, servers);
    if (share === 0) return undefined;
    const now = performance.now();
    let window = windows.get(keyId);
    if (!window || window.until <= now) {
      // Clearing everything bounds the memory at the cost of at most one second's counts.
      if (windows.size >= maxKeysCounted) windows.clear();
      window = { until: now + 1_000, used: 0 };
      windows.set(keyId, window);
    }
    if (window.used >= share) return undefined;
    window.used += 1;
    return { isOver: false, remaining: limit - window.used, resetSeconds: 1 };
  };
}

function createRate({ redis, servers }: RequestLimitsOptions, limit: number): RateLimiterAbstract {
  const share = localShare(limit, servers);
  const local = new RateLimiterMemory({ points: Math.ceil(limit / servers) - share, duration: 1 });
  if (!redis) return local;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "pb:rate",
    points: limit - share * servers,
    duration: 1,
    rejectIfRedisNotReady: true,
    insuranceLimiter: local,
  });
}

async function takeFromRate(rate: RateLimiterAbstract, keyId: string): Promise<Taken> {
  const [isOver, state] = await rate.consume(keyId).then(
    (taken) => [false, taken] as const,
    (rejection: unknown) => {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      return [true, rejection] as const;
    },
  );
  return { isOver, remaining: state.remainingPoints, resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1_000)) };
}

// A sorted set per key, with a member for each request in flight, scored by its start time. A member that was never
// removed because its server crashed stops counting after the longest possible search.
const maxSearchMs = 120_000;
const enterScript = `
  local now = redis.call('time')
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('zremrangebyscore', KEYS[1], '-inf', ms - ARGV[3])
  if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('zadd', KEYS[1], ms, ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1`;

interface InFlight {
  /** Returns the function that ends the request, or undefined if the limit is reached. */
  enter(keyId: string, limit: number): Promise<(() => void) | undefined>;
}

/** Redis with our script as a command, which is sent by its hash instead of in full. */
type CountingRedis = Redis & { pbEnter(name: string, member: string, limit: number, ttlMs: number): Promise<number> };

function countInFlight({ redis: plainRedis, servers }: RequestLimitsOptions): InFlight {
  plainRedis?.defineCommand("pbEnter", { numberOfKeys: 1, lua: enterScript });
  const redis = plainRedis as CountingRedis | undefined;
  const counts = new Map<string, number>();

  /** Counts all requests in flight in this server, including those counted in Redis. */
  function countLocally(keyId: string, change: 1 | -1): number {
    const count = (counts.get(keyId) ?? 0) + change;
    counts.set(keyId, count);
    // Not deleted one by one when they drop to zero: see decision 0009.
    if (counts.size > maxKeysCounted) for (const [id, inFlight] of counts) if (inFlight === 0) counts.delete(id);
    return count;
  }

  return {
    async enter(keyId, limit) {
      const inFlight = countLocally(keyId, 1);
      const share = localShare(limit, servers);
      if (inFlight <= share) return () => void countLocally(keyId, -1);
      const name = `pb:flight:${keyId}`;
      const member = randomUUID();
      const entered = redis
        ? await redis.pbEnter(name, member, limit - share * servers, maxSearchMs).then(
            (result) => result === 1,
            () => "unavailable" as const,
          )
        : "unavailable";
      const release = (): void => {
        countLocally(keyId, -1);
        // Even if Redis timed out, because it may have added the member. If the removal fails, the member stops counting
        // after `maxSearchMs`.
        redis?.zrem(name, member).catch(() => undefined);
      };
      const localLimit = Math.max(1, Math.floor(limit / servers));
      const isOver = entered === false || (entered === "unavailable" && inFlight > localLimit);
      if (isOver) release();
      return isOver ? undefined : release;
    },
  };
}
