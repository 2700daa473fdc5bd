import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../problems.ts";

// Limits protect us; budgets protect the caller. They are counted in Redis for all servers together. When Redis is
// away or slow, each server counts alone against its share: the cost is precision, never a refused search.

export interface LimitedKey {
  keyId: string;
  searchesPerSecond: number;
  searchesInFlight: number;
}

/** A place among the searches in flight. */
export interface Place {
  rateLimitPolicy: string;
  rateLimit: string;
  leave(): void;
}

export type EnterLimits = (key: LimitedKey) => Promise<Place>;

export interface LimitsOptions {
  /** Without Redis this server counts alone. */
  redis: Redis | undefined;
  /** How many servers share the limits. */
  servers: number;
}

/** Takes one search off the key's rate and a place among its searches in flight, or refuses with 429. */
export function createLimits(options: LimitsOptions): EnterLimits {
  const rates = new Map<number, RateLimiterAbstract>();
  const inFlight = countInFlight(options);
  const takeHere = createOwnRates(options.servers);

  function rateOf(limit: number): RateLimiterAbstract {
    const known = rates.get(limit);
    if (known) return known;
    const made = createRate(options, limit);
    rates.set(limit, made);
    return made;
  }

  return async function enter(key) {
    const policy = `"key";q=${key.searchesPerSecond};w=1`;
    const [rate, leave] = await Promise.all([
      takeHere(key) ?? takeFromRate(rateOf(key.searchesPerSecond), key.keyId),
      inFlight.enter(key.keyId, key.searchesInFlight),
    ]);
    const rateLimit = `"key";r=${rate.remaining};t=${rate.resetSeconds}`;
    const headers = { "ratelimit-policy": policy, ratelimit: rateLimit };
    if (rate.isOver) {
      leave?.();
      throw new Problem("rate_limited", { retryAfterSeconds: rate.resetSeconds, headers });
    }
    if (!leave) throw new Problem("concurrency_limited", { headers });
    return { rateLimitPolicy: policy, rateLimit, leave };
  };
}

/**
 * Of a large limit, half is split among the servers as their own, and only what goes beyond asks Redis for some of the
 * rest. So a key that is far from its limit costs no round trip, and the sum can still not exceed it.
 */
function ownShare(limit: number, servers: number): number {
  return limit < 100 ? 0 : Math.floor(limit / 2 / servers);
}

interface Taken {
  isOver: boolean;
  remaining: number;
  resetSeconds: number;
}

const mostKeysCounted = 100_000;

/** Takes from this server's own share of the key's rate, or says nothing if that is spent. */
function createOwnRates(servers: number): (key: LimitedKey) => Taken | undefined {
  const windows = new Map<string, { until: number; used: number }>();
  return function takeHere({ keyId, searchesPerSecond: limit }) {
    const own = ownShare(limit, servers);
    if (own === 0) return undefined;
    const now = performance.now();
    let window = windows.get(keyId);
    if (!window || window.until <= now) {
      // Those that have not come back for long are forgotten with the others; what it costs is a second's count.
      if (windows.size >= mostKeysCounted) windows.clear();
      window = { until: now + 1_000, used: 0 };
      windows.set(keyId, window);
    }
    if (window.used >= own) return undefined;
    window.used += 1;
    return { isOver: false, remaining: limit - window.used, resetSeconds: 1 };
  };
}

function createRate({ redis, servers }: LimitsOptions, limit: number): RateLimiterAbstract {
  const own = ownShare(limit, servers);
  const alone = new RateLimiterMemory({ points: Math.ceil(limit / servers) - own, duration: 1 });
  if (!redis) return alone;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "pb:rate",
    points: limit - own * servers,
    duration: 1,
    rejectIfRedisNotReady: true,
    insuranceLimiter: alone,
  });
}

async function takeFromRate(rate: RateLimiterAbstract, keyId: string): Promise<Taken> {
  const [isOver, state] = await rate.consume(keyId).then(
    (taken) => [false, taken] as const,
    (refused: unknown) => {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      return [true, refused] as const;
    },
  );
  return { isOver, remaining: state.remainingPoints, resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1_000)) };
}

// A member of a sorted set per search in flight, scored by the time it entered. One that was never taken out, because
// its server died, is no longer counted when the longest possible search is over.
const longestSearchMs = 120_000;
const enterScript = `
  local now = redis.call('time')
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('zremrangebyscore', KEYS[1], '-inf', ms - ARGV[3])
  if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('zadd', KEYS[1], ms, ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[3])
  return 1`;

interface InFlight {
  /** How to leave, or nothing if the key has as many searches in flight as it may. */
  enter(keyId: string, limit: number): Promise<(() => void) | undefined>;
}

/** Redis with our script as a command, which is sent by its hash and not in full each time. */
type CountingRedis = Redis & { pbEnter(name: string, member: string, limit: number, lifeMs: number): Promise<number> };

function countInFlight({ redis: plainRedis, servers }: LimitsOptions): InFlight {
  plainRedis?.defineCommand("pbEnter", { numberOfKeys: 1, lua: enterScript });
  const redis = plainRedis as CountingRedis | undefined;
  const alone = new Map<string, number>();

  /** Everything this server has in flight, whether Redis knows of it or not. */
  function countHere(keyId: string, change: 1 | -1): number {
    const count = (alone.get(keyId) ?? 0) + change;
    alone.set(keyId, count);
    // Not each one as it ends: see decision 0009.
    if (alone.size > mostKeysCounted) for (const [each, inFlight] of alone) if (inFlight === 0) alone.delete(each);
    return count;
  }

  return {
    async enter(keyId, limit) {
      const here = countHere(keyId, 1);
      const own = ownShare(limit, servers);
      if (here <= own) return () => void countHere(keyId, -1);
      const name = `pb:flight:${keyId}`;
      const member = randomUUID();
      const entered = redis
        ? await redis.pbEnter(name, member, limit - own * servers, longestSearchMs).then(
            (answer) => answer === 1,
            () => "alone" as const,
          )
        : "alone";
      const leave = (): void => {
        countHere(keyId, -1);
        // Also when Redis seemed away: it may have counted us and only answered too late. A member that could not be
        // taken out stops counting after `longestSearchMs`.
        redis?.zrem(name, member).catch(() => undefined);
      };
      const isRefused = entered === false || (entered === "alone" && here > Math.max(1, Math.floor(limit / servers)));
      if (isRefused) leave();
      return isRefused ? undefined : leave;
    },
  };
}
