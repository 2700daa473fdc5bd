import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { networkOf } from "../lib/network-of.ts";
import { limitProblem } from "../problems/exceeded-limit.ts";
import type { Problem } from "../problems/problems.ts";

// Limits key guessing to a hundred invalid keys per minute and IP address, counted across all servers. After that, keys from
// the address are rejected without a look-up. Keys that worked within the last day are still accepted, so that one guesser
// does not lock out everyone behind the same address.

export interface KeyGuessLimiter {
  /** Call before looking up the key. Rejects if the address is blocked and the key is not known to be valid. */
  check(address: string, key: KeyIdentity): Promise<void>;
  /** Counts an invalid key. Returns rate_limited above the limit, otherwise undefined. */
  countInvalid(address: string): Promise<Problem | undefined>;
  recordValid(key: KeyIdentity): void;
  /** Whether the key worked on this server within the last hour. */
  isKnownHere(name: string): boolean;
}

export interface KeyIdentity {
  /** Identifies the key in this server's memory. */
  name: string;
  /** Identifies the key in Redis. Computed on demand. */
  digest: () => string;
}

export const maxInvalidPerMinute = 100;
const maxEntries = 50_000;
const knownLocallyMs = 3_600_000;
const knownInRedisSeconds = 86_400;

/** Without Redis, each server counts its own share and recognizes only the keys it has seen itself. */
export function createKeyGuessLimiter({
  redis,
  servers,
}: {
  redis: Redis | undefined;
  servers: number;
}): KeyGuessLimiter {
  const counter = createCounter(redis, Math.ceil(maxInvalidPerMinute / servers));
  // Both map to an expiry time by performance.now().
  const blocked = new Map<string, number>();
  const known = new Map<string, number>();

  const isKnownHere = (name: string): boolean => (known.get(name) ?? 0) > performance.now();

  async function isKnown({ name, digest }: KeyIdentity): Promise<boolean> {
    if (isKnownHere(name)) return true;
    if (redis?.status !== "ready") return false;
    // If Redis times out, do not reject a key that may be valid.
    return redis.exists(redisName(digest())).then(
      (count) => count === 1,
      () => true,
    );
  }

  return {
    isKnownHere,
    async check(address, key) {
      if (blocked.size === 0) return;
      const leftMs = (blocked.get(networkOf(address)) ?? 0) - performance.now();
      if (leftMs > 0 && !(await isKnown(key))) throw tooManyGuesses(leftMs);
    },
    async countInvalid(address) {
      const network = networkOf(address);
      const leftMs = await counter.consume(network).then(
        () => 0,
        (rejection: unknown) => {
          if (!(rejection instanceof RateLimiterRes)) throw rejection;
          return rejection.msBeforeNext;
        },
      );
      if (leftMs <= 0) return undefined;
      setWithExpiry(blocked, network, leftMs);
      return tooManyGuesses(leftMs);
    },
    recordValid(key) {
      if (isKnownHere(key.name)) return;
      setWithExpiry(known, key.name, knownLocallyMs);
      redis?.set(redisName(key.digest()), "1", "EX", knownInRedisSeconds).catch(() => undefined);
    },
  };
}

function createCounter(redis: Redis | undefined, localPoints: number): RateLimiterAbstract {
  const local = new RateLimiterMemory({ points: localPoints, duration: 60 });
  if (!redis) return local;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "pb:guess",
    points: maxInvalidPerMinute,
    duration: 60,
    rejectIfRedisNotReady: true,
    insuranceLimiter: local,
  });
}

/** Deletes the oldest entry when the map is full. */
function setWithExpiry(map: Map<string, number>, name: string, forMs: number): void {
  map.delete(name);
  const oldest = map.keys().next();
  if (map.size >= maxEntries && !oldest.done) map.delete(oldest.value);
  map.set(name, performance.now() + forMs);
}

function redisName(digest: string): string {
  return `pb:known:${digest}`;
}

function tooManyGuesses(leftMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(leftMs / 1_000));
  const exceeded = {
    limit: "network_invalid_keys" as const,
    max: maxInvalidPerMinute,
    windowSeconds: 60,
    retryAfterSeconds: seconds,
  };
  return limitProblem("rate_limited", exceeded, {
    detail: `More than ${maxInvalidPerMinute} invalid API keys per minute were sent from this IP address. You were not charged. Check the key, and retry after the number of seconds in \`Retry-After\`.`,
    headers: {
      "ratelimit-policy": `"address";q=${maxInvalidPerMinute};w=60`,
      ratelimit: `"address";r=0;t=${seconds}`,
    },
  });
}
