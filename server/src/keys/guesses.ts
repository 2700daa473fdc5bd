import { isIPv6 } from "node:net";
import type { Redis } from "ioredis";
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { Problem } from "../problems.ts";

// Whoever tries keys gets a hundred wrong ones a minute from one address, counted for all servers together; what comes
// then is refused without being looked up, right or wrong. A key that worked within a day is let through all the same:
// otherwise one guesser would shut out everyone behind the same address.

export interface Guesses {
  /** Refuses an address that has guessed too often, unless this key is known to be good. Before the key is looked up. */
  refuse(address: string, key: KnownBy): Promise<void>;
  /** Counts a wrong key. Gives what to answer: that it is wrong or, from the hundredth on, that it was one too many. */
  countWrong(address: string): Promise<Problem>;
  noteGood(key: KnownBy): void;
}

export interface KnownBy {
  /** In this server's memory. */
  name: string;
  /** Elsewhere; made only when it is needed. */
  digest: () => string;
}

const wrongPerMinute = 100;
const mostRemembered = 50_000;
const knownHereMs = 3_600_000;
const knownSeconds = 86_400;

/** Without Redis, or while it is away, each server counts alone and knows the keys that it has seen itself. */
export function createGuesses({ redis, servers }: { redis: Redis | undefined; servers: number }): Guesses {
  const counter = createCounter(redis, Math.ceil(wrongPerMinute / servers));
  /** Until when, by the process's clock. The oldest is forgotten first. */
  const shut = new Map<string, number>();
  const known = new Map<string, number>();

  async function isKnown({ name, digest }: KnownBy): Promise<boolean> {
    if ((known.get(name) ?? 0) > performance.now()) return true;
    if (redis?.status !== "ready") return false;
    // Redis that is late must not shut out a good key.
    return redis.exists(nameInRedis(digest())).then(
      (count) => count === 1,
      () => true,
    );
  }

  return {
    async refuse(address, key) {
      if (shut.size === 0) return;
      const leftMs = (shut.get(networkOf(address)) ?? 0) - performance.now();
      if (leftMs > 0 && !(await isKnown(key))) throw tooManyGuesses(leftMs);
    },
    async countWrong(address) {
      const network = networkOf(address);
      const leftMs = await counter.consume(network).then(
        () => 0,
        (refused: unknown) => {
          if (!(refused instanceof RateLimiterRes)) throw refused;
          return refused.msBeforeNext;
        },
      );
      if (leftMs <= 0) return new Problem("api_key_invalid");
      remember(shut, network, leftMs);
      return tooManyGuesses(leftMs);
    },
    noteGood(key) {
      if ((known.get(key.name) ?? 0) > performance.now()) return;
      remember(known, key.name, knownHereMs);
      redis?.set(nameInRedis(key.digest()), "1", "EX", knownSeconds).catch(() => undefined);
    },
  };
}

function createCounter(redis: Redis | undefined, alonePoints: number): RateLimiterAbstract {
  const alone = new RateLimiterMemory({ points: alonePoints, duration: 60 });
  if (!redis) return alone;
  return new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: "pb:guess",
    points: wrongPerMinute,
    duration: 60,
    rejectIfRedisNotReady: true,
    insuranceLimiter: alone,
  });
}

function remember(map: Map<string, number>, name: string, forMs: number): void {
  map.delete(name);
  const oldest = map.keys().next();
  if (map.size >= mostRemembered && !oldest.done) map.delete(oldest.value);
  map.set(name, performance.now() + forMs);
}

function nameInRedis(digest: string): string {
  return `pb:known:${digest}`;
}

/** Of IPv6, whoever has one address has the 2^64 beside it. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.toLowerCase().split("::");
  const [first, last] = [head, tail ?? ""].map((half) => half.split(":").filter(Boolean)) as [string[], string[]];
  const gap = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: gap }, () => "0"), ...last].slice(0, 4).join(":");
}

function tooManyGuesses(leftMs: number): Problem {
  const seconds = Math.max(1, Math.ceil(leftMs / 1_000));
  return new Problem("rate_limited", {
    detail:
      "Too many wrong API keys came from this address. Nothing was charged. Check the key, and wait as `Retry-After` says.",
    retryAfterSeconds: seconds,
    headers: {
      "ratelimit-policy": `"address";q=${wrongPerMinute};w=60`,
      ratelimit: `"address";r=0;t=${seconds}`,
    },
  });
}
