import { randomUUID } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { type LimitName, limitProblem } from "../problems/exceeded-limit.ts";
import type { Admission } from "./admission.ts";
import { occupySlot } from "./occupied-slots.ts";

// Request limits, shared by searches, management requests and the console: a rate and a number of requests in flight.
// Redis counts them for all servers. When Redis is unavailable or slow, each server counts against its own share. Limits then
// become less precise, but no request fails because of Redis.

export interface LimitedKey {
  /** The subject of the limit. Default: a key. */
  kind?: LimitKind;
  keyId: string;
  searchesPerSecond: number;
  /** Default: no limit. */
  searchesInFlight?: number;
}

type LimitKind = "key" | "wallet" | "test" | "test_requests" | "management" | "network";

const limitNames: Record<LimitKind, { rate: LimitName; inFlight: LimitName }> = {
  key: { rate: "key_rate", inFlight: "key_in_flight" },
  wallet: { rate: "wallet_rate", inFlight: "wallet_in_flight" },
  test: { rate: "wallet_test_rate", inFlight: "wallet_test_in_flight" },
  test_requests: { rate: "wallet_test_requests", inFlight: "wallet_test_in_flight" },
  management: { rate: "wallet_management_rate", inFlight: "wallet_management_in_flight" },
  network: { rate: "network_rate", inFlight: "network_in_flight" },
};

/** Permission for one request in flight. */
export interface Slot {
  /** Requests left in the current second. */
  remaining: number;
  rateLimitPolicy: string;
  rateLimit: string;
  release: () => void;
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
    const { kind = "key", searchesPerSecond, searchesInFlight = Infinity } = key;
    const names = limitNames[kind];
    const policy = `"${kind}";q=${searchesPerSecond};w=1`;
    const [rate, release] = await Promise.all([
      takeLocally(key) ?? takeFromRate(rateOf(searchesPerSecond), key.keyId),
      inFlight.enter(key.keyId, searchesInFlight),
    ]);
    const rateLimit = `"${kind}";r=${rate.remaining};t=${rate.resetSeconds}`;
    const headers = { "ratelimit-policy": policy, ratelimit: rateLimit };
    if (rate.isOver) {
      release?.();
      const exceeded = { limit: names.rate, max: searchesPerSecond, windowSeconds: 1 };
      throw limitProblem("rate_limited", { ...exceeded, retryAfterSeconds: rate.resetSeconds }, { headers });
    }
    if (!release) {
      const exceeded = { limit: names.inFlight, max: searchesInFlight, retryAfterSeconds: 1 };
      throw limitProblem("concurrency_limited", exceeded, { headers });
    }
    return { remaining: rate.remaining, rateLimitPolicy: policy, rateLimit, release };
  };
}

/** Management reads share a few database connections, so their limits are lower than those of searches. */
export const managementLimits = { kind: "management" as const, searchesPerSecond: 200, searchesInFlight: 16 };

/**
 * Limits management requests per wallet, because a wallet can have a thousand keys, and separately from searches, so that
 * a key at its search limit can still read its budget. From here on the request counts against the wallet's share of this
 * server, until its handler has finished.
 */
export async function limitWallet(
  { acquireSlot, admission }: { acquireSlot: AcquireSlot; admission: Pick<Admission, "enter"> },
  walletId: string,
  reply: FastifyReply,
): Promise<void> {
  occupySlot(reply.request, admission.enter("callers", walletId));
  await occupySlotUntilClosed(acquireSlot, { keyId: `manage ${walletId}`, ...managementLimits }, reply);
}

/** Occupies a slot until the response is closed. */
export async function occupySlotUntilClosed(
  acquireSlot: AcquireSlot,
  key: LimitedKey,
  reply: FastifyReply,
): Promise<void> {
  const slot = await acquireSlot(key);
  // If the client disconnected while the slot was acquired, no "close" event follows.
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
      if (inFlight > limit) {
        countLocally(keyId, -1);
        return undefined;
      }
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
